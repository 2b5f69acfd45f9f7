/** Groups requests: those that arrive while one is running are sent together as the next one. */
import { setTimeout as delay } from "node:timers/promises";
import { isOfData } from "./unwritable.ts";

/** The most items of one request. */
const maxGroup = 1_000;

type QueuedItem<Item, Result> = { item: Item; done: PromiseWithResolvers<Result> };

type RequestAll<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

type Options<Item> = {
  /** Least time between the starts of two groups. An item that comes after a longer pause is sent at once. */
  paceMs?: number;
  /** Two items with the same id never go into the same group, so that their order is kept. */
  idOf?: (item: Item) => string;
  /** When the data of an item is invalid, each item is sent by itself, so that only this one fails. */
  failsAlone?: boolean;
  /** When a group fails after more than this, the other side is down: all waiting items fail as well. */
  unresponsiveAfterMs?: number;
};

/** `requestAll` returns the results in the order of the items; when it throws, all of that group fail. */
export function createGroups<Item, Result>(
  requestAll: RequestAll<Item, Result>,
  { paceMs = 0, idOf, failsAlone = false, unresponsiveAfterMs = 5_000 }: Options<Item> = {},
): (item: Item) => Promise<Result> {
  const waiting: QueuedItem<Item, Result>[] = [];
  let isSending = false;
  let nextAtMs = 0;

  const sendNext = async () => {
    const items = waiting.slice(0, maxGroup).map(({ item }) => item);
    const size = idOf === undefined ? items.length : distinctPrefix(items.map(idOf));
    const beganMs = performance.now();
    const failure = await sendGroup(waiting.splice(0, size), { requestAll, failsAlone });
    if (failure === undefined || performance.now() - beganMs <= unresponsiveAfterMs) return;
    // They would wait as long for the same failure, while ever more items queue up.
    for (const { done } of waiting.splice(0)) done.reject(failure.error);
  };

  const sendAll = async () => {
    isSending = true;
    while (waiting.length > 0) {
      // Items that arrive in the same turn of the event loop still join the group.
      await new Promise((resolve) => setImmediate(resolve));
      const earlyMs = nextAtMs - performance.now();
      if (earlyMs > 0) await delay(earlyMs);
      nextAtMs = performance.now() + paceMs;
      await sendNext();
    }
    isSending = false;
  };

  return (item) => {
    const done = Promise.withResolvers<Result>();
    waiting.push({ item, done });
    if (!isSending) void sendAll();
    return done.promise;
  };
}

type GroupOptions<Item, Result> = { requestAll: RequestAll<Item, Result>; failsAlone: boolean };

/** Returns the error when the whole group failed. */
async function sendGroup<Item, Result>(
  group: readonly QueuedItem<Item, Result>[],
  options: GroupOptions<Item, Result>,
): Promise<{ error: unknown } | undefined> {
  try {
    const results = await options.requestAll(group.map(({ item }) => item));
    group.forEach(({ done }, i) => void done.resolve(results[i] as Result));
  } catch (error) {
    if (options.failsAlone && group.length > 1 && isOfData(error)) {
      for (const one of group) await sendGroup([one], options);
      return undefined;
    }
    for (const { done } of group) done.reject(error);
    return { error };
  }
  return undefined;
}

/** The length of the longest prefix whose ids are all different. */
export function distinctPrefix(ids: readonly string[]): number {
  const seen = new Set<string>();
  for (const id of ids) {
    if (seen.has(id)) break;
    seen.add(id);
  }
  return seen.size;
}

/** Writes items in groups. An item whose data can never be written fails alone. */
export function createJointWrites<Item>(
  writeAll: (items: readonly Item[]) => Promise<void>,
): (item: Item) => Promise<void> {
  return createGroups(
    async (items: readonly Item[]): Promise<readonly undefined[]> => {
      await writeAll(items);
      return items.map(() => undefined);
    },
    { failsAlone: true },
  );
}
