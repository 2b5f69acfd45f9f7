/** What comes in while an answer is on its way is asked together, next. */
import { setTimeout as delay } from "node:timers/promises";
import { isOfData } from "./unwritable.ts";

/** The most that is asked at once. */
const maxGroup = 1_000;

type QueuedItem<Item, Result> = { item: Item; done: PromiseWithResolvers<Result> };

type AnswerAll<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

type Options<Item> = {
  /** Groups follow each other by this much at least: what comes alone is asked at once, what comes often together. */
  paceMs?: number;
  /** Two items of one id never go into the same group, so that the later one comes later. */
  idOf?: (item: Item) => string;
  /** When the data of one item is at fault, each is asked by itself, so that it fails alone. */
  failsAlone?: boolean;
  /** What fails after so long was asked of somebody who does not answer: who waits meanwhile fails as well. */
  silentAfterMs?: number;
};

/** `answerAll` answers in the order of the items; when it throws, all of that group fail. */
export function createGroups<Item, Result>(
  answerAll: AnswerAll<Item, Result>,
  { paceMs = 0, idOf, failsAlone = false, silentAfterMs = 5_000 }: Options<Item> = {},
): (item: Item) => Promise<Result> {
  const waiting: QueuedItem<Item, Result>[] = [];
  let isAsking = false;
  let nextAtMs = 0;

  const askNext = async () => {
    const items = waiting.slice(0, maxGroup).map(({ item }) => item);
    const size = idOf === undefined ? items.length : distinctPrefix(items.map(idOf));
    const beganMs = performance.now();
    const failure = await askGroup(waiting.splice(0, size), { answerAll, failsAlone });
    if (failure === undefined || performance.now() - beganMs <= silentAfterMs) return;
    // They would wait as long for the same, and more would come: they piled up.
    for (const { done } of waiting.splice(0)) done.reject(failure.error);
  };

  const askAll = async () => {
    isAsking = true;
    while (waiting.length > 0) {
      // Whatever arrives in the same turn of the event loop still comes along.
      await new Promise((resolve) => setImmediate(resolve));
      const earlyMs = nextAtMs - performance.now();
      if (earlyMs > 0) await delay(earlyMs);
      nextAtMs = performance.now() + paceMs;
      await askNext();
    }
    isAsking = false;
  };

  return (item) => {
    const done = Promise.withResolvers<Result>();
    waiting.push({ item, done });
    if (!isAsking) void askAll();
    return done.promise;
  };
}

type GroupOptions<Item, Result> = { answerAll: AnswerAll<Item, Result>; failsAlone: boolean };

/** Answers why none of the group was answered, if so. */
async function askGroup<Item, Result>(
  group: readonly QueuedItem<Item, Result>[],
  asking: GroupOptions<Item, Result>,
): Promise<{ error: unknown } | undefined> {
  try {
    const results = await asking.answerAll(group.map(({ item }) => item));
    group.forEach(({ done }, i) => void done.resolve(results[i] as Result));
  } catch (error) {
    if (asking.failsAlone && group.length > 1 && isOfData(error)) {
      for (const one of group) await askGroup([one], asking);
      return undefined;
    }
    for (const { done } of group) done.reject(error);
    return { error };
  }
  return undefined;
}

/** How many ids from the start on are all different. */
export function distinctPrefix(ids: readonly string[]): number {
  const seen = new Set<string>();
  for (const id of ids) {
    if (seen.has(id)) break;
    seen.add(id);
  }
  return seen.size;
}

/** Writes together what comes in together; what can never be written fails alone. */
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
