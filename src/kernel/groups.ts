/** Groups requests: those that arrive while one is running are sent together as the next one. */
import { isOfData } from "./unwritable.ts";

/** The most items of one request. */
const maxGroup = 1_000;

type QueuedItem<Item, Result> = { item: Item; done: PromiseWithResolvers<Result> };

type RequestAll<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

type Options<Item> = {
  /** Least time between the starts of two groups. An item that comes after a longer pause is sent at once. */
  paceMs?: number;
  /** So many waiting items are sent without regard to the pace. */
  fullAt?: number;
  /** Two items with the same id never go into the same group, so that their order is kept. */
  idOf?: (item: Item) => string;
  /** When the data of an item is invalid, its group is halved until this one is alone, so that only it fails. */
  failsAlone?: boolean;
  /** When a group fails after more than this, the other side is down: all waiting items fail as well. */
  unresponsiveAfterMs?: number;
};

/** `requestAll` returns the results in the order of the items; when it throws, all of that group fail. */
export function createGroups<Item, Result>(
  requestAll: RequestAll<Item, Result>,
  options: Options<Item> = {},
): (item: Item) => Promise<Result> {
  const { paceMs = 0, fullAt = maxGroup, idOf } = options;
  const { failsAlone = false, unresponsiveAfterMs = 5_000 } = options;
  const waiting: QueuedItem<Item, Result>[] = [];
  let isSending = false;
  let nextAtMs = 0;
  let noteFull = () => {};

  const sendNext = async () => {
    const items = waiting.slice(0, maxGroup).map(({ item }) => item);
    const size = idOf === undefined ? items.length : distinctPrefix(items.map(idOf));
    const beganMs = performance.now();
    const failure = await sendGroup(waiting.splice(0, size), { requestAll, failsAlone });
    if (failure === undefined || performance.now() - beganMs <= unresponsiveAfterMs) return;
    // They would wait as long for the same failure, while ever more items queue up.
    for (const { done } of waiting.splice(0)) done.reject(failure.error);
  };

  const keepPace = async () => {
    const earlyMs = nextAtMs - performance.now();
    if (earlyMs <= 0 || waiting.length >= fullAt) return;
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, earlyMs);
    noteFull = over.resolve;
    await over.promise;
    clearTimeout(timer);
  };

  const sendAll = async () => {
    isSending = true;
    while (waiting.length > 0) {
      // Items that arrive in the same turn of the event loop still join the group.
      await new Promise((resolve) => setImmediate(resolve));
      await keepPace();
      nextAtMs = performance.now() + paceMs;
      await sendNext();
    }
    isSending = false;
  };

  return (item) => {
    const done = Promise.withResolvers<Result>();
    waiting.push({ item, done });
    if (!isSending) void sendAll();
    else if (waiting.length >= fullAt) noteFull();
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
      return sendHalves(group, options);
    }
    for (const { done } of group) done.reject(error);
    return { error };
  }
  return undefined;
}

/**
 * One item of a thousand is found by some twenty requests. Ends when a half fails whose data is valid: the other side
 * is away, and the other half would fail as well.
 */
async function sendHalves<Item, Result>(
  group: readonly QueuedItem<Item, Result>[],
  options: GroupOptions<Item, Result>,
): Promise<{ error: unknown } | undefined> {
  const middle = Math.ceil(group.length / 2);
  const [first, second] = [group.slice(0, middle), group.slice(middle)];
  const failure = await sendGroup(first, options);
  if (failure === undefined || isOfData(failure.error)) {
    const other = await sendGroup(second, options);
    return other === undefined || isOfData(other.error) ? undefined : other;
  }
  for (const { done } of second) done.reject(failure.error);
  return failure;
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
