/** Assertions about an answer, and values that are taken from it: schemas, and what an answer is by them. */
import { z } from "zod";
import { parseJsonText } from "#kernel/body.ts";
import { codingsOf, findUnknown } from "#kernel/content-coding.ts";
import { refuseBy } from "#kernel/faults.ts";
import { findJsonPathFault, parseJsonPath, valueAt } from "#kernel/json-path.ts";

export type Response = {
  kind: "response";
  status: number;
  headers: Record<string, string>;
  body: string;
  hide?: Hide;
};

/**
 * Hides the secrets in a text that is asserted to contain `expected`: they could be asked for letter by letter. Whoever
 * expects a whole one knows it.
 */
export type Hide = (text: string, expected?: string) => string;

/** The response in whose headers assertions do not see what `hide` hides, either. */
export function hideFrom({ hide: before = (text) => text, ...response }: Response, hide: Hide) {
  const both: Hide = (text, expected) => hide(before(text, expected), expected);
  return { ...response, hide: both };
}

/** A status that ends a request, or all of a hundred. */
const Status = z.union([
  z.int().min(200).max(599),
  z.string().regex(/^[2-5][xX]{2}$/, "is no class of statuses, such as 2xx"),
]);

const Statuses = z.union([Status, z.array(Status).min(1).max(50)], {
  error: "has to be a status from 200 to 599, a class such as 2xx, or a list such as [200, 204]",
});

export function expandStatuses(statuses: z.infer<typeof Statuses>): number[] {
  const all = [statuses].flat().flatMap((one) => {
    if (typeof one === "number") return one;
    return Array.from({ length: 100 }, (_, index) => Number(one.slice(0, 1)) * 100 + index);
  });
  return [...new Set(all)].sort((one, other) => one - other);
}

export const HeaderName = z
  .string()
  .regex(
    /^[\w!#$%&'*+.^`|~-]{1,100}$/,
    "is no name of a header, which has no colon and no blank, such as content-type",
  );

export const HeaderText = z
  .string()
  .max(8_192)
  // Node's own rule for the value of a header.
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "has characters that no header may have");

const JsonPath = z.string().max(500, { abort: true }).superRefine(refuseBy(findJsonPathFault));

/** A condition on the content of a response. */
export const Assertion = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("status"), equals: Statuses }),
  z.strictObject({ source: z.literal("header"), name: HeaderName, contains: HeaderText }),
  z.strictObject({
    source: z.literal("json"),
    path: JsonPath,
    equals: z.union([z.string(), z.number(), z.boolean(), z.null()]),
  }),
]);
export type Assertion = z.infer<typeof Assertion>;

/** The place of a value in an answer, for later steps. */
export const Extraction = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("json"), path: JsonPath }),
  z.strictObject({ source: z.literal("header"), name: HeaderName }),
]);
export type Extraction = z.infer<typeof Extraction>;

/** The name of a value that a step takes from its answer; later steps name it as `{{name}}`. */
export const extractName = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

/** Describes the first assertion that does not hold; null: all hold. */
export function faultOfResponse(
  assertions: readonly Assertion[],
  response: Response,
): string | null {
  for (const assertion of assertions) {
    const fault = findFault(assertion, response);
    if (fault !== null) return assertion.source === "json" ? fault + hintAt(response) : fault;
  }
  return null;
}

/** Why nothing is found in a body, if that is its content coding; else empty. */
export function hintAt({ headers }: Response): string {
  const unknown = findUnknown(codingsOf(headers["content-encoding"]));
  return unknown === undefined ? "" : `: the body has an unknown content coding, ${show(unknown)}`;
}

function findFault(assertion: Assertion, response: Response): string | null {
  switch (assertion.source) {
    case "status":
      return expandStatuses(assertion.equals).includes(response.status)
        ? null
        : `answered ${response.status}, expected ${[assertion.equals].flat().join(" or ")}`;
    case "header": {
      const given = headerOf(response, assertion.name);
      const value = given && (response.hide?.(given, assertion.contains) ?? given);
      if (value?.includes(assertion.contains)) return null;
      return `header ${assertion.name} is ${show(value)}, expected to contain ${show(assertion.contains)}`;
    }
    case "json": {
      const value = findInJson(response, assertion.path);
      if (value === assertion.equals) return null;
      return `${assertion.path} is ${show(value)}, expected ${show(assertion.equals)}`;
    }
  }
}

/** The value that a later step needs; undefined: the answer does not have it. */
export function extract(from: Extraction, response: Response): unknown {
  return from.source === "json" ? findInJson(response, from.path) : headerOf(response, from.name);
}

/** An own one: no answer has a header `constructor` of itself. */
function headerOf({ headers }: Response, name: string): string | undefined {
  const key = name.toLowerCase();
  return Object.hasOwn(headers, key) ? headers[key] : undefined;
}

/** undefined: the body is not JSON or has no such member. */
function findInJson(response: Response, text: string): unknown {
  const path = parseJsonPath(text);
  return path && valueAt(path, parseBody(response));
}

/** Each body is read once, since it may be long and have many assertions. */
const parsed = new WeakMap<Response, unknown>();

function parseBody(response: Response): unknown {
  if (!parsed.has(response)) parsed.set(response, parseJsonText(response.body));
  return parsed.get(response);
}

/** Quotes a value of an answer; truncated, since that of a broken server may be long. */
export function show(value: unknown): string {
  if (value === undefined) return "absent";
  const text = toJson(value);
  // Half of a surrogate pair is no character, and Postgres refuses it in JSON.
  return text.length <= 80 ? text : `${text.slice(0, 79).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** An older Node cannot write what is nested in thousands of levels, though it can read it. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "nested too deeply to show";
  }
}
