/** Group commit: what is written while a write is on its way goes out together with the next one. */

export type GroupWriter<Item> = { write: (item: Item) => Promise<void> };

type Waiting<Item> = { item: Item; done: PromiseWithResolvers<void> };

/** The most that goes out in one write. */
const maxGroup = 1_000;

/**
 * Collects items by id. Two items of one id never go out in the same group, so that the later one
 * is the one that stays.
 */
export function createGroupWriter<Item extends { id: string }>(
  writeGroup: (items: readonly Item[]) => Promise<void>,
): GroupWriter<Item> {
  const waiting: Waiting<Item>[] = [];
  let isWriting = false;

  const writeAll = async () => {
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting.splice(0, distinctPrefix(waiting.map(({ item }) => item.id)));
      try {
        await writeGroup(group.map(({ item }) => item));
        for (const { done } of group) done.resolve();
      } catch (error) {
        for (const { done } of group) done.reject(error);
      }
    }
    isWriting = false;
  };

  return {
    write(item) {
      const done = Promise.withResolvers<void>();
      waiting.push({ item, done });
      if (!isWriting) void writeAll();
      return done.promise;
    },
  };
}

/** How many ids from the start on are all different. */
export function distinctPrefix(ids: readonly string[]): number {
  const seen = new Set<string>();
  for (const id of ids.slice(0, maxGroup)) {
    if (seen.has(id)) break;
    seen.add(id);
  }
  return seen.size;
}
