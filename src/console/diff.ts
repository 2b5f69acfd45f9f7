/** Finds what of an answer has changed since the one before, and makes the new one of both. Pure; of server and page. */

/** `[value]`: another value; an object: the changes by field or index; null: the field, or the rest of the array, is gone. */
export type Change = readonly [unknown] | { readonly [field: string]: Change | null };

type Composite = Record<string, unknown>;

/** Of two JSON values; without changes `{}`. */
export function findChanges(before: unknown, after: unknown): Change {
  if (before === after) return {};
  if (!isComposite(before) || !isComposite(after)) return [after];
  if (Array.isArray(before) !== Array.isArray(after)) return [after];
  const fields = Object.keys({ ...before, ...after });
  const changes = fields.map((field) => [field, changeOf(field, before, after)] as const);
  return Object.fromEntries(changes.filter(([, change]) => !isNothing(change)));
}

function changeOf(field: string, before: Composite, after: Composite): Change | null {
  if (!Object.hasOwn(after, field)) return null;
  return Object.hasOwn(before, field) ? findChanges(before[field], after[field]) : [after[field]];
}

function isNothing(change: Change | null): boolean {
  return change !== null && Object.keys(change).length === 0;
}

/** Leaves `before` as it is. */
export function applyChanges(before: unknown, change: Change): unknown {
  if (isReplacement(change)) return change[0];
  if (!isComposite(before)) return before;
  const fields = new Map(Object.entries(before));
  for (const [field, one] of Object.entries(change)) {
    if (one === null) fields.delete(field);
    else fields.set(field, applyChanges(fields.get(field), one));
  }
  return Array.isArray(before) ? [...fields.values()] : Object.fromEntries(fields);
}

function isReplacement(change: Change): change is readonly [unknown] {
  return Array.isArray(change);
}

function isComposite(value: unknown): value is Composite {
  return typeof value === "object" && value !== null;
}
