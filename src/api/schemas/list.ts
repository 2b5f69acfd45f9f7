/** Arrays of a body, validated before keys: one that is too long is refused by its length alone, others after some faults. */
import { z } from "zod";

type Range = { min?: number; max?: number };

/** More than any caller reads, and few enough to cost little. */
const faultsAtMost = 100;

type Def = z.core.$ZodArrayDef & { atMost: number };

const List = z.core.$constructor("List", (list: z.ZodArray, def: Def) => {
  z.ZodArray.init(list, def);
  const parseAll = list._zod.parse;
  list._zod.parse = (payload, context) => {
    const { value } = payload;
    if (!Array.isArray(value)) return parseAll(payload, context);
    // A longer one is refused by the check of its length, which runs after this.
    if (value.length <= def.atMost) payload.value = parseItems(def.element, payload, context);
    return payload;
  };
});

export function list<Item extends z.ZodType>(item: Item, { min = 0, max }: Range = {}) {
  const def: Def = { type: "array", element: item, atMost: max ?? Number.POSITIVE_INFINITY };
  let schema = new List(def) as unknown as z.ZodArray<Item>;
  if (min > 0) schema = schema.min(min);
  if (max !== undefined) schema = schema.max(max);
  return schema;
}

function parseItems(
  item: z.core.$ZodType,
  { value, issues }: z.core.ParsePayload,
  context: z.core.ParseContextInternal,
): unknown[] {
  const items = value as unknown[];
  const parsed: unknown[] = new Array(items.length);
  for (let index = 0; index < items.length && issues.length < faultsAtMost; index += 1) {
    const result = item._zod.run({ value: items[index], issues: [] }, context);
    if (result instanceof Promise) throw new Error("no schema of a body is asynchronous");
    issues.push(...z.core.util.prefixIssues(index, result.issues));
    parsed[index] = result.value;
  }
  return parsed;
}
