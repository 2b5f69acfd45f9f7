/** Exceptions from a limit for some of those it is about. */

export type Override = { id: string; identifier: string; limit: number; durationMs: number };

/** Finds the override of an identifier: the one for exactly it, else the most specific pattern. */
export type FindOverride = (identifier: string) => Override | undefined;

/**
 * Patterns are compiled once. The more characters a pattern spells out the more specific it is; of
 * equals the one with fewer `*` comes first, then the older id.
 */
export function compileOverrides(overrides: readonly Override[]): FindOverride {
  // Most namespaces have none: an identifier is new each time, and looking it up means hashing it.
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

/** `literals` once: whoever makes patterns decides how many there are to be sorted. */
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

/**
 * `*` is any sequence of characters. Each part between two of them is looked for from where the last
 * one ended, so that no input takes longer than its length times the pattern's.
 */
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
