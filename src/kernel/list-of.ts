/** Schemas for lists from another system, which may be long and may have invalid items only. */
import { z } from "zod";

/**
 * An array of at most `most` items, parsed up to the first invalid one: `z.array` collects an issue for
 * every invalid item, and some million of them are more than a process has memory for.
 */
export function listOf<Item extends z.ZodType>(item: Item, most: number) {
  return z.custom<unknown[]>(Array.isArray, "no list").transform((given, context) => {
    if (given.length > most) return refuse(context, { message: `more than ${most} items` });
    const read: z.output<Item>[] = [];
    for (const [index, one] of given.entries()) {
      const result = item.safeParse(one);
      const [wrong] = result.error?.issues ?? [];
      if (wrong) return refuse(context, { ...wrong, path: [index, ...wrong.path] });
      read.push(result.data as z.output<Item>);
    }
    return read;
  });
}

const mostParts = 10_000;

/** A list inside of an object, which has none for null. */
export const many = <Item extends z.ZodType>(item: Item) =>
  listOf(item, mostParts)
    .nullish()
    .transform((items) => items ?? []);

/** Texts by name; none for null. Of a record, too, `z.record` collects an issue for every invalid one. */
export const Texts = z
  .custom<Record<string, string>>(
    (given) => Object.keys(given ?? {}).length <= mostParts,
    "too many texts",
  )
  .pipe(z.record(z.string(), z.string()))
  .nullish()
  .transform((texts) => texts ?? {});

function refuse(context: z.RefinementCtx, issue: { message: string; path?: PropertyKey[] }): never {
  const { message, path = [] } = issue;
  context.addIssue({ code: "custom", message, path });
  return z.NEVER;
}
