/** Groups requests: those that arrive while one is running are sent together as the next one. */
import { isConnectionLost, isOfData } from "./database-faults.ts";

/** The most items of one request. */
const maxGroup = 1_000;

/** The most requests for one group: three invalid items among a thousand are found by 55. */
const maxRequests = 64;

type QueuedItem<Item, Result> = { item: Item; done: PromiseWithResolvers<Result> };

type RequestAll<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

type Options<Item> = {
  /** Least time between the starts of two groups. An item that comes after a longer pause is sent at once. */
  paceMs?: number;
  /** Number of pending items at which they are sent at once, without regard to the pace. */
  fullAt?: number;
  /** An item with which all pending ones are sent at once, without regard to the pace. */
  isUrgent?: (item: Item) => boolean;
  /** Two items with the same id never go into the same group, so that their order is kept. */
  idOf?: (item: Item) => string;
  /** Halves a group with invalid data until one item is left. Beyond `maxRequests` untried ones fail too, as unknown. */
  failsAlone?: boolean;
  /** A request that fails after more than this, not because of its data: the other side is down, and all items fail. */
  unresponsiveAfterMs?: number;
};

/** `requestAll` returns the results in the order of the items; when it throws, all of that group fail. */
export function createGroups<Item, Result>(
  requestAll: RequestAll<Item, Result>,
  options: Options<Item> = {},
): (item: Item) => Promise<Result> {
  const { paceMs = 0, fullAt = maxGroup, isUrgent = () => false, idOf } = options;
  const { failsAlone = false, unresponsiveAfterMs = 5_000 } = options;
  const waiting: QueuedItem<Item, Result>[] = [];
  let isSending = false;
  let nextAtMs = 0;
  let noteFull = () => {};

  const sendNext = async () => {
    const items = waiting.slice(0, maxGroup).map(({ item }) => item);
    const size = idOf === undefined ? items.length : distinctPrefix(items.map(idOf));
    const group = waiting.splice(0, size);
    const failure = await sendGroup(group, { requestAll, failsAlone, unresponsiveAfterMs });
    // They would wait as long for the same failure, while ever more items queue up.
    if (failure?.isSlow === true) rejectAll(waiting.splice(0), failure.error);
  };

  const keepPace = async () => {
    const earlyMs = nextAtMs - performance.now();
    if (earlyMs <= 0 || waiting.length >= fullAt) return;
    if (waiting.some(({ item }) => isUrgent(item))) return;
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
    else if (waiting.length >= fullAt || isUrgent(item)) noteFull();
    return done.promise;
  };
}

type GroupOptions<Item, Result> = {
  requestAll: RequestAll<Item, Result>;
  failsAlone: boolean;
  unresponsiveAfterMs: number;
};

/** `isSlow`: it came after more than `unresponsiveAfterMs`. */
type Failure = { error: unknown; isSlow: boolean };

/** Returns why the other side seems to be away; undefined: it is not. One bad item of a thousand takes 21 requests. */
async function sendGroup<Item, Result>(
  group: readonly QueuedItem<Item, Result>[],
  options: GroupOptions<Item, Result>,
): Promise<Failure | undefined> {
  const left = [group];
  for (let requests = 0; requests < maxRequests; requests += 1) {
    const part = left.shift();
    if (part === undefined) return undefined;
    const failure = await sendPart(part, options);
    if (failure === undefined) continue;
    if (isOfData(failure.error) && options.failsAlone && part.length > 1) {
      left.unshift(...halvesOf(part));
      continue;
    }
    rejectAll(part, failure.error);
    if (!isAway(failure)) continue;
    // The other parts would fail as well.
    rejectAll(left.flat(), failure.error);
    return failure;
  }
  rejectAll(left.flat(), new Error("not tried: too many others of its group were refused"));
  return undefined;
}

async function sendPart<Item, Result>(
  part: readonly QueuedItem<Item, Result>[],
  { requestAll, unresponsiveAfterMs }: GroupOptions<Item, Result>,
): Promise<Failure | undefined> {
  const beganMs = performance.now();
  try {
    const results = await requestAll(part.map(({ item }) => item));
    part.forEach(({ done }, i) => void done.resolve(results[i] as Result));
  } catch (error) {
    return { error, isSlow: performance.now() - beganMs > unresponsiveAfterMs };
  }
  return undefined;
}

/** Other failures may be of one part alone: a row that is locked, a deadlock. */
function isAway({ error, isSlow }: Failure): boolean {
  return !isOfData(error) && (isSlow || isConnectionLost(error));
}

function halvesOf<Each>(part: readonly Each[]): [readonly Each[], readonly Each[]] {
  const middle = Math.ceil(part.length / 2);
  return [part.slice(0, middle), part.slice(middle)];
}

function rejectAll<Item, Result>(items: readonly QueuedItem<Item, Result>[], error: unknown) {
  for (const { done } of items) done.reject(error);
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
