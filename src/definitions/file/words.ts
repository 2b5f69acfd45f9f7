/** What is wrong with a field, in words that say what is allowed and never what was given. */
import type { z } from "zod";
import { wordsOf } from "#kernel/faults.ts";
import { hintOf } from "./nearest.ts";
import type { Path } from "./offsets.ts";

type Issue = z.core.$ZodIssue;

export type Complaint = { path: Path; message: string };

/** `fields`: those that a row of this section has. */
export function complaintsOf(issue: Issue, row: object, fields: readonly string[]): Complaint[] {
  const path = issue.path.filter((part) => typeof part !== "symbol");
  if (issue.code !== "unrecognized_keys") {
    return [{ path, message: isMissing(row, path) ? missing(issue) : describe(issue) }];
  }
  const known = path.length === 0 ? fields : [];
  return issue.keys.map((key) => ({
    path: [...path, key],
    message: `is unknown${hintOf(key, known)}`,
  }));
}

function isMissing(row: object, path: Path): boolean {
  const value = path.reduce<unknown>(
    (held, name) => (held as Record<string, unknown> | null | undefined)?.[name],
    row,
  );
  return path.length > 0 && value === undefined;
}

function missing(issue: Issue): string {
  return issue.code === "custom" ? issue.message : `is missing: it ${describe(issue)}`;
}

function describe(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `has to be ${typeWords[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `has to be ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}`;
    case "too_small":
      return isOwn(issue)
        ? issue.message
        : `has to ${sized(issue.origin, "at least", issue.minimum)}`;
    case "too_big":
      return isOwn(issue)
        ? issue.message
        : `has to ${sized(issue.origin, "at most", issue.maximum)}`;
    case "invalid_union":
      return describeUnion(issue);
    default:
      return wordsOf(issue);
  }
}

/** Whether the schema says it in its own words. */
function isOwn({ message }: Issue): boolean {
  return !/^Too (?:small|big)/.test(message);
}

const typeWords: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

function sized(origin: string, bound: string, limit: number | bigint): string {
  if (origin === "string") return `have ${bound} ${limit} characters`;
  return origin === "array" ? `have ${bound} ${limit} entries` : `be ${bound} ${limit}`;
}

function describeUnion(issue: Extract<Issue, { code: "invalid_union" }>): string {
  if ("options" in issue) return `has to be ${issue.options.map(String).join(" or ")}`;
  const types = issue.errors.flatMap(([first]) =>
    first?.code === "invalid_type" ? [typeWords[first.expected] ?? first.expected] : [],
  );
  return types.length === 0 ? issue.message : `has to be ${[...new Set(types)].join(", or ")}`;
}
