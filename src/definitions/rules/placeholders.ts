/** Finds `{{NAME}}` in the values of a row. */

export type Placeholder = {
  /** The way to the text that has it. */
  field: (string | number)[];
  /** The text between the braces; empty: they do not close, or are in the name of a field. */
  name: string;
};

/** Values that are not text have none. */
export function findPlaceholders(value: unknown, field: (string | number)[] = []): Placeholder[] {
  if (typeof value === "string") return inText(value).map((name) => ({ field, name }));
  if (typeof value !== "object" || value === null) return [];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((entry, index) => [index, entry])
    : Object.entries(value);
  return entries.flatMap(([key, entry]) => [
    ...inText(`${key}`).map(() => ({ field: [...field, key], name: "" })),
    ...findPlaceholders(entry, [...field, key]),
  ]);
}

function inText(text: string): string[] {
  return [...text.matchAll(/\{\{(?:([^{}]*)\}\})?/g)].map(([, name = ""]) => name);
}
