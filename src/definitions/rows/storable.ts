/** Finds what the database refuses to store, or what would fill the stack of who reads it. Pure. */

export type Unstorable = {
  /** The way to the value that is not storable, or has such a name in it. */
  field: (string | number)[];
  message: string;
};

const deepest = 50;

export function findUnstorable(value: unknown, field: (string | number)[] = []): Unstorable[] {
  if (field.length > deepest) return [{ field, message: tooDeep }];
  if (typeof value === "string") return isStorable(value) ? [] : [{ field, message: unstorable }];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) {
    return value.flatMap((entry, index) => findUnstorable(entry, [...field, index]));
  }
  return Object.entries(value).flatMap(([key, entry]) =>
    isStorable(key)
      ? findUnstorable(entry, [...field, key])
      : [{ field, message: `has a name that ${unstorable}` }],
  );
}

/** Postgres takes neither in a text of JSON. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

const unstorable = "has a NUL character or half a character, which cannot be stored";
const tooDeep = `is nested deeper than ${deepest}`;
