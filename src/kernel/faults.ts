/** Describes faults of input in words that say what to do. */
import { z } from "zod";
import { ProblemError } from "./problem.ts";
import { cleanText, nearOf, someOf } from "./text.ts";

// Describes a value's fault as people write it: what was expected, and what came instead.

type RawIssue = z.core.$ZodRawIssue;
type Issue = z.core.$ZodIssue;

// Set for the whole process, as Restate's SDK reads inputs of handlers by itself. A schema's own words come first.
z.config({ customError: describeFault });

/** Undefined: zod's own words stay. */
function describeFault(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return expected(typeWords(issue.expected, issue), gotOf(issue.expected, issue.input));
    case "invalid_value":
      return describeChoice(issue);
    case "too_small":
      return describeSize(issue, "at least", issue.minimum);
    case "too_big":
      return describeSize(issue, "at most", issue.maximum);
    case "unrecognized_keys":
      return describeStrangers(issue);
    case "invalid_format":
      return issue.format === "url" ? "must be an address such as https://example.com" : undefined;
    case "invalid_union":
      return issue.input === undefined ? "is missing" : describeUnion(issue.errors);
    default:
      return undefined;
  }
}

/** `, got 'abc'` for numbers, times, flags and choices only: other text may be a secret. */
export function got(input: unknown): string {
  return `, got ${typeof input === "string" ? quoted(input) : kindOf(input)}`;
}

/** A missing value is said to be missing: there is nothing that was got. */
function expected(what: string, instead: string): string {
  return instead === "" ? `is missing: expected ${what}` : `expected ${what}${instead}`;
}

/** Text is quoted where no text belongs: a secret is text where text belongs. */
function gotOf(type: string, input: unknown): string {
  if (input === undefined) return "";
  const isQuotable = ["number", "int", "bigint", "boolean", "date", "nan"].includes(type);
  return isQuotable ? got(input) : `, got ${wordOf(input)}`;
}

const typeNames: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  date: "a date",
};

function typeWords(type: string, issue: RawIssue): string {
  return type === "number" || type === "int" ? numberWords(type, issue) : (typeNames[type] ?? type);
}

/** Describes the number that a schema expects: whole or not, and its range. */
function numberWords(type: string, { schema }: RawIssue): string {
  const { isInt, minValue, maxValue } = schema instanceof z.ZodNumber ? schema : anyNumber;
  const words = isInt || type === "int" ? "a whole number" : "a number";
  const hasLeast = minValue !== null && minValue > Number.MIN_SAFE_INTEGER;
  const hasMost = maxValue !== null && maxValue < Number.MAX_SAFE_INTEGER;
  if (hasLeast && hasMost) return `${words} from ${minValue} to ${maxValue}`;
  if (hasLeast) return `${words} of at least ${minValue}`;
  return hasMost ? `${words} of at most ${maxValue}` : words;
}

const anyNumber = z.number();

function describeChoice({ values, input, schema }: RawIssue & { code: "invalid_value" }) {
  const names = values.map((value) =>
    typeof value === "string" ? nameWords(value) : String(value),
  );
  const what = names.length === 1 ? `${names[0]}` : `one of ${names.join(", ")}`;
  if (input === undefined) return expected(what, "");
  // A literal may be one side of a union whose other side is an address with a password.
  return expected(what, schema instanceof z.ZodEnum ? got(input) : `, got ${wordOf(input)}`);
}

type Sized = RawIssue & { code: "too_small" | "too_big" };

const units: Record<string, string> = {
  string: "character",
  array: "item",
  map: "item",
  set: "item",
};

function describeSize(issue: Sized, bound: string, limit: number | bigint): string | undefined {
  const { origin, input, inclusive, exact } = issue;
  const unit = units[origin];
  if (unit !== undefined) {
    if (limit === 1 && bound === "at least" && !exact) return "must not be empty";
    return `expected ${exact ? "exactly" : bound} ${limit} ${unit}${limit === 1 ? "" : "s"}`;
  }
  if ((origin !== "number" && origin !== "int") || inclusive === false) return undefined;
  return expected(numberWords(origin, issue), got(input));
}

/** Describes the fault by the kind of the union that the value comes closest to, else by all kinds. */
function describeUnion(branches: readonly Issue[][]): string | undefined {
  const faults = branches.flatMap(([first]) => first ?? []);
  const within = faults.find(({ path }) => path.length > 0);
  if (within !== undefined) return `${within.path.join(".")}: ${within.message}`;
  if (faults.length === 0) return undefined;
  const parts = faults.map(({ message }) => {
    const [, want, end = ""] = /^expected (.*?)(, got .*)?$/s.exec(message) ?? [];
    return { message, want, end };
  });
  // One of the kinds is text of its own form, which may be a secret: what came is not shown.
  if (parts.some(({ want, end }) => want === undefined || end === "")) {
    return parts.map(({ want, message }) => (want ? `expected ${want}` : message)).join(", or ");
  }
  const ends = parts.map(({ end }) => end);
  const text = parts.find(({ want }) => want === "text")?.end;
  const end = text ?? ends.find((one) => one.includes("'")) ?? ends[0];
  return `expected ${parts.map(({ want }) => want).join(" or ")}${end}`;
}

const namesAtMost = 10;

function describeStrangers({ keys, schema }: RawIssue & { code: "unrecognized_keys" }): string {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const first = keys.slice(0, namesAtMost);
  const names = someOf(first.map(nameWords), namesAtMost, keys.length);
  const near = first.flatMap((key) => nearOf(key, known));
  const hint = near.length === 0 ? "" : `: did you mean ${near.join(" or ")}?`;
  return `unknown ${keys.length > 1 ? "names" : "name"} ${names}${hint}`;
}

function quoted(text: string): string {
  return text === "" ? "an empty text" : `'${shown(text)}'`;
}

function nameWords(name: string): string {
  return `"${shown(name)}"`;
}

/** Some of a text from outside: messages go to terminals and logs. */
function shown(text: string): string {
  const clean = cleanText(text, 60);
  return text.length > 60 ? `${clean}…` : clean;
}

/** A number, of all else what it is. */
function kindOf(input: unknown): string {
  return typeof input === "number" ? String(input) : wordOf(input);
}

/** Names a value's type, without the value; true, false and null are no secrets. */
function wordOf(input: unknown): string {
  if (input === null || typeof input === "boolean") return String(input);
  if (Array.isArray(input)) return "a list";
  return typeNames[typeof input] ?? typeof input;
}

const linesAtMost = 100;

/** One line for each fault: where it is, and what has to be there. `whole`: what the value itself is called. */
export function faultLines({ issues }: z.ZodError, whole: string): string[] {
  const lines = issues.slice(0, linesAtMost).map((issue) => {
    const where = issue.path.length === 0 ? whole : cleanText(issue.path.join("."), 300);
    return where === "" ? wordsOf(issue) : `${where}: ${wordsOf(issue)}`;
  });
  const more = issues.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/** Returns the issue's message; for a name that a record must not have, that of the name's own schema. */
export function wordsOf(issue: z.core.$ZodIssue): string {
  const { message } = issue;
  return issue.code === "invalid_key" ? (issue.issues[0]?.message ?? message) : message;
}

/** Returns a check for `superRefine` of a text: `find` returns the text's fault. */
export const refuseBy =
  (find: (text: string) => string | undefined) =>
  (text: string, { addIssue }: z.RefinementCtx): void => {
    const message = find(text);
    if (message !== undefined) addIssue({ code: "custom", message, continue: false });
  };

/** The body of a request as its schema has it; without one, as `{}`. `whole` names it. Throws the 400 that names each fault. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  whole = "",
): z.infer<Schema> {
  const parsed = schema.safeParse(body === undefined ? {} : body);
  if (parsed.success) return parsed.data;
  const detail = faultLines(parsed.error, whole).join("\n");
  throw new ProblemError({ status: 400, code: "invalid_request", detail });
}
