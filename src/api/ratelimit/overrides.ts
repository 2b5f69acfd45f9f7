/** Overrides: exceptions from a limit for some identifiers. */
import { z } from "zod";
import { ApiError } from "#api/error.ts";
import { text, whole } from "#api/schemas/schema.ts";

export type Override = { id: string; identifier: string; limit: number; durationMs: number };

/** Finds the override of an identifier: an exact match, else the most specific pattern. */
export type FindOverride = (identifier: string) => Override | undefined;

/** Compiles the patterns once. More literal characters go first; of equals fewer `*`, then the smaller id. */
export function compileOverrides(overrides: readonly Override[]): FindOverride {
  // Most namespaces have none: this saves hashing the identifier, a new string at each call.
  if (overrides.length === 0) return () => undefined;
  const exact = new Map(overrides.map((override) => [override.identifier, override]));
  const patterns = overrides
    .filter(({ identifier }) => identifier.includes("*"))
    .map(toPattern)
    .toSorted(compareSpecificity);
  return (identifier) =>
    exact.get(identifier) ?? patterns.find(({ matches }) => matches(identifier))?.override;
}

type Pattern = { override: Override; literals: number; matches: (text: string) => boolean };

/** `literals` is computed once, not at each comparison of the sort. */
function toPattern(override: Override): Pattern {
  const { identifier } = override;
  const literals = identifier.replaceAll("*", "").length;
  return { override, literals, matches: compilePattern(identifier) };
}

function compareSpecificity(one: Pattern, other: Pattern): number {
  return (
    other.literals - one.literals ||
    one.override.identifier.length - other.override.identifier.length ||
    (one.override.id < other.override.id ? -1 : 1)
  );
}

/** `*` matches any sequence. Parts are searched from the end of the last match: time is bounded by length times length. */
function compilePattern(pattern: string): (text: string) => boolean {
  const parts = pattern.split("*");
  const first = parts[0] as string;
  const last = parts.at(-1) as string;
  const middle = parts.slice(1, -1).filter((part) => part !== "");
  return (text) => {
    if (text.length < first.length + last.length) return false;
    if (!text.startsWith(first) || !text.endsWith(last)) return false;
    return holdsInOrder(text.slice(first.length, text.length - last.length), middle);
  };
}

function holdsInOrder(text: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}

export const overrideTarget = {
  namespace: text({ min: 1, max: 512 }).describe(
    "The name of the namespace or its id, `rlns_…`. It must exist.",
  ),
  identifier: text({ min: 1, max: 512 }).describe(
    "Whose limit it is; in an override `*` stands for any characters.",
  ),
};

export const OverrideOutput = z.object({
  overrideId: z.string().describe("The id of the override, `rlor_…`."),
  identifier: z.string().describe("The identifier or pattern that it is for."),
  limit: whole().describe("How much may be counted in one window; 0: nothing."),
  duration: whole().describe("Length of a window in milliseconds."),
});

export const exampleOverride = {
  overrideId: "rlor_c6RyNf2Vd9HmKt4E",
  identifier: "user_4*",
  limit: 50,
  duration: 60_000,
};

export function describeOverride({ id, identifier, limit, durationMs }: Override) {
  return { overrideId: id, identifier, limit, duration: durationMs };
}

export function overrideNotFound(): ApiError {
  return new ApiError(
    "unkey/data/ratelimit_override_not_found",
    "The requested override does not exist.",
  );
}
