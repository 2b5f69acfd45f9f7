/**
 * The building blocks of the wire contract's schemas. They accept and refuse exactly what JSON
 * Schema does where zod by itself would differ: lengths count characters and not UTF-16 units, and
 * whole numbers may be larger than a double holds exactly.
 */
import { z } from "zod";

type Range = { min?: number; max?: number };

/** Text of `min` to `max` characters that Postgres can hold. */
export function text({ min = 0, max = Number.POSITIVE_INFINITY }: Range = {}) {
  return z
    .string()
    .check((payload) => {
      const { value, issues } = payload;
      const length = characters(value, { min, max });
      if (length < min) {
        issues.push({ code: "too_small", origin: "string", minimum: min, input: value });
      }
      if (length > max) {
        issues.push({ code: "too_big", origin: "string", maximum: max, input: value });
      }
      if (!isStorable(value)) issues.push({ code: "custom", message: unstorable, input: value });
    })
    .meta({ ...(min > 0 && { minLength: min }), ...(Number.isFinite(max) && { maxLength: max }) });
}

/** True if `text({ min: 1, max })` accepts it for sure; false: only the schema knows. */
export function isUsualText(value: unknown, max: number): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= max && isStorable(value);
}

/** Counts code points, but only where it matters: a code point has one or two units of `length`. */
function characters(value: string, { min, max }: Required<Range>): number {
  const { length } = value;
  if (length > 2 * max || (length >= 2 * min && length <= max)) return length;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII is meant
  return /^[\x00-\x7f]*$/.test(value) ? value.length : [...value].length;
}

/** Text of a pattern; lengths as in `text`. All patterns of the contract are ASCII. */
export function patterned(pattern: RegExp, range: Range = {}) {
  return text(range)
    .check((payload) => {
      if (pattern.test(payload.value)) return;
      payload.issues.push({
        code: "invalid_format",
        format: "regex",
        pattern: pattern.source,
        input: payload.value,
      });
    })
    .meta({ pattern: pattern.source, ...bounds(range) });
}

function bounds({ min, max }: Range) {
  return {
    ...(min !== undefined && { minLength: min }),
    ...(max !== undefined && { maxLength: max }),
  };
}

const unstorable = "must not contain NUL characters or half surrogate pairs";

/** Postgres can store what this refuses neither in text nor in JSON. */
function isStorable(value: string): boolean {
  return !value.includes("\u0000") && value.isWellFormed();
}

const maxDepth = 100;

/** Why a JSON value cannot be stored; without recursion, so that no depth overflows the stack. */
function storageFault(root: unknown): string | undefined {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return `must not be nested deeper than ${maxDepth} levels`;
    if (level.some((value) => typeof value === "string" && !isStorable(value))) return unstorable;
    const next: unknown[] = [];
    for (const value of level) addChildren(next, value);
    level = next;
  }
  return undefined;
}

/** Adds the names of properties too. One by one, since there may be too many for a spread call. */
function addChildren(children: unknown[], value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) for (const name of Object.keys(value)) children.push(name);
  for (const child of Array.isArray(value) ? value : Object.values(value)) children.push(child);
}

/** The largest number the contract allows: 2^63 as a double. */
export const int64Max = 9_223_372_036_854_776_000;

export function whole({ min, max }: Range = {}) {
  let schema = z.number();
  if (min !== undefined) schema = schema.min(min);
  if (max !== undefined) schema = schema.max(max);
  return schema
    .check((payload) => {
      if (Number.isInteger(payload.value)) return;
      payload.issues.push({ code: "invalid_type", expected: "int", input: payload.value });
    })
    .meta({ type: "integer" });
}

/** Metadata: 100 properties, 100 levels at most. Not zod's `record`, which would validate a million before it counts. */
export const Meta = z
  .unknown()
  .check(({ value, issues }) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      issues.push({ code: "invalid_type", expected: "object", input: value });
    } else if (Object.keys(value).length > 100) {
      issues.push({ code: "too_big", origin: "object", maximum: 100, input: value });
    } else {
      const fault = storageFault(value);
      if (fault !== undefined) issues.push({ code: "custom", message: fault, input: value });
    }
  })
  .meta({
    type: "object",
    maxProperties: 100,
    additionalProperties: true,
    description:
      "A JSON object of your own: at most 100 properties, 100 levels deep, 1 MiB. It is returned as it is.",
  }) as unknown as z.ZodType<Record<string, unknown>>;

/** The largest number below 2^63 that a double holds: 2^63 itself would not fit into a caller's int64. */
export const bigintMax = String(2n ** 63n - 1_024n);

export function toBigint(value: number): string {
  return value >= 2 ** 63 ? bigintMax : BigInt(value).toString();
}

/** Undefined for an object without properties. */
export function present<Value extends object>(value: Value | null): Value | undefined {
  return value === null || Object.keys(value).length === 0 ? undefined : value;
}

/** Undefined for an empty list. */
export function presentList<Item>(list: Item[]): Item[] | undefined {
  return list.length === 0 ? undefined : list;
}
