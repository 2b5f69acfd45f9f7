/** Writes a row as source text. */

const lineWidth = 100;

/** On one line if it fits there after `indent`, else a line for each field. */
export function literalOf(value: unknown, indent: string, unit: string): string {
  const flat = flatten(value);
  // A comma follows.
  if (indent.length + flat.length < lineWidth) return flat;
  if (Array.isArray(value)) {
    return block(
      ["[", "]"],
      value.map((entry) => literalOf(entry, indent + unit, unit)),
    );
  }
  if (typeof value !== "object" || value === null) return flat;
  const fields = Object.entries(value).map(
    ([key, entry]) => `${nameOf(key)}: ${literalOf(entry, indent + unit, unit)}`,
  );
  return block(["{", "}"], fields);

  function block([open, close]: [string, string], entries: string[]): string {
    const lines = entries.map((entry) => `${indent}${unit}${entry},\n`);
    return `${open}\n${lines.join("")}${indent}${close}`;
  }
}

/** A name as it has to be written before a colon. */
export function nameOf(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}

function flatten(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flatten).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, entry]) => `${nameOf(key)}: ${flatten(entry)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}
