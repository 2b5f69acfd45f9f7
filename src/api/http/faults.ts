/** The faults of a refused body, by the keyword of its JSON Schema, as the wire contract has it. */
import type { z } from "zod";
import type { Fault } from "#api/error.ts";

type Issue = z.core.$ZodIssue;

/** Most faults that are listed: a body may have a million. */
const faultsAtMost = 100;

/** The first faults of a refused body, in the order in which they were found. */
export function faultsOf(error: z.ZodError): Fault[] {
  return error.issues.slice(0, faultsAtMost).flatMap(faultsOfIssue).slice(0, faultsAtMost);
}

function faultsOfIssue(issue: Issue): Fault[] {
  const at = issue.path.map(schemaStep).join("");
  if (issue.input === undefined && issue.path.length > 0) return [missingFault(issue)];
  switch (issue.code) {
    case "invalid_type":
      return [typeFault(issue, at)];
    case "unrecognized_keys":
      return issue.keys.slice(0, faultsAtMost).map((key) => ({
        location: `${at}/additionalProperties`,
        message: `additional properties '${shortened(key)}' not allowed`,
      }));
    case "too_small":
      return [sizeFault(at, { keyword: minKeywords[issue.origin], limit: issue.minimum, issue })];
    case "too_big":
      return [sizeFault(at, { keyword: maxKeywords[issue.origin], limit: issue.maximum, issue })];
    case "invalid_format":
      return [{ location: `${at}/pattern`, message: `does not match pattern '${issue.pattern}'` }];
    case "invalid_value":
      return [
        {
          location: `${at}/enum`,
          message: `value must be one of ${issue.values.map((value) => `'${String(value)}'`).join(", ")}`,
        },
      ];
    default:
      return [{ location: at || "/", message: issue.message }];
  }
}

/** A name from the request may be of any length. */
function shortened(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100).toWellFormed()}…` : name;
}

/** A step of the path from a value to one in it, as a location in the schema. */
function schemaStep(step: PropertyKey): string {
  return typeof step === "number" ? "/items" : `/properties/${String(step)}`;
}

/** JSON has no undefined: an undefined value is a missing property. */
function missingFault({ path }: Issue): Fault {
  const parent = path.slice(0, -1).map(schemaStep).join("");
  return { location: `${parent}/required`, message: `missing property '${String(path.at(-1))}'` };
}

function typeFault(issue: Extract<Issue, { code: "invalid_type" }>, at: string): Fault {
  const expected = issue.expected === "int" ? "integer" : issue.expected;
  return { location: `${at}/type`, message: `got ${jsonType(issue.input)}, want ${expected}` };
}

const minKeywords: Record<string, string> = {
  string: "minLength",
  array: "minItems",
  number: "minimum",
  int: "minimum",
};

const maxKeywords: Record<string, string> = {
  string: "maxLength",
  array: "maxItems",
  number: "maximum",
  int: "maximum",
  object: "maxProperties",
};

type Size = { keyword: string | undefined; limit: number | bigint; issue: Issue };

function sizeFault(at: string, { keyword = "size", limit, issue }: Size): Fault {
  return {
    location: `${at}/${keyword}`,
    message: `${keyword}: got ${sizeOf(issue.input)}, want ${limit}`,
  };
}

function sizeOf(input: unknown): number {
  if (typeof input === "number") return input;
  if (typeof input === "string") return [...input].length;
  return Object.keys(input as object).length;
}

function jsonType(input: unknown): string {
  if (input === null) return "null";
  if (Array.isArray(input)) return "array";
  if (input === undefined) return "nothing";
  return typeof input;
}
