/** Group commit: what is written while a write is on its way goes out together with the next one. */
import { isOfData } from "#kernel/groups.ts";

export type GroupWriter<Item, Result> = { write: (item: Item) => Promise<Result> };

type WriteGroup<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

type Waiting<Item, Result> = { item: Item; done: PromiseWithResolvers<Result> };

/** The most that goes out in one write. */
const maxGroup = 1_000;

/**
 * Collects items by id. Two items of one id never go out in the same group, so that the later one
 * is the one that stays. `writeGroup` answers in the order of its items. When the data of one is at
 * fault, each is written by itself, so that it fails alone.
 */
export function createGroupWriter<Item extends { id: string }, Result>(
  writeGroup: WriteGroup<Item, Result>,
): GroupWriter<Item, Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isWriting = false;

  const writeAll = async () => {
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting.splice(0, distinctPrefix(waiting.map(({ item }) => item.id)));
      await writeGroupOrEach(group, writeGroup);
    }
    isWriting = false;
  };

  return {
    write(item) {
      const done = Promise.withResolvers<Result>();
      waiting.push({ item, done });
      if (!isWriting) void writeAll();
      return done.promise;
    },
  };
}

async function writeGroupOrEach<Item, Result>(
  group: readonly Waiting<Item, Result>[],
  writeGroup: WriteGroup<Item, Result>,
): Promise<void> {
  try {
    const results = await writeGroup(group.map(({ item }) => item));
    group.forEach(({ done }, i) => void done.resolve(results[i] as Result));
  } catch (error) {
    if (group.length > 1 && isOfData(error)) {
      for (const one of group) await writeGroupOrEach([one], writeGroup);
    } else {
      for (const { done } of group) done.reject(error);
    }
  }
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
