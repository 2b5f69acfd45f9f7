/** Generates parts of a statement for the store. */
import { quoteText } from "#api/analytics/engine/engine-client.ts";

/** A quoted name, so that it is never taken for a keyword. Its characters were checked before. */
export function writeName(name: string): string {
  return `\`${name}\``;
}

export const writeText = quoteText;

/** `column IN ('a', 'b')`; without values a condition that is always false. */
export function writeOneOf(column: string, values: readonly string[]): string {
  if (values.length === 0) return "1 = 0";
  return `${column} IN (${values.map(writeText).join(", ")})`;
}
