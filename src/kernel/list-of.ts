/** Lists that another system sends: each may be long, and every item of it may be wrong. */
import { z } from "zod";

/**
 * An array of at most so many items, read up to the first wrong one: `z.array` keeps a description of
 * each wrong item, and some million of them are more than a process has room for.
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

function refuse(context: z.RefinementCtx, issue: { message: string; path?: PropertyKey[] }): never {
  const { message, path = [] } = issue;
  context.addIssue({ code: "custom", message, path });
  return z.NEVER;
}
