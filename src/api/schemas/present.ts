/** Empty values are left out of answers, as the wire contract has it. */

/** Undefined for an object without properties. */
export function present<Value extends object>(value: Value | null): Value | undefined {
  return value === null || Object.keys(value).length === 0 ? undefined : value;
}

/** Undefined for an empty list. */
export function presentList<Item>(list: Item[]): Item[] | undefined {
  return list.length === 0 ? undefined : list;
}
