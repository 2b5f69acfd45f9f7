/** What is asked while an answer is on its way is asked together, next. */
import { setTimeout as delay } from "node:timers/promises";

const maxGroup = 1_000;

type Waiting<Item, Result> = { item: Item; done: PromiseWithResolvers<Result> };

/**
 * `answerAll` answers in the order of the items; when it throws, all of that group are told, and all who
 * wait where that took long. Groups follow each other by `paceMs` at least: what comes alone is asked at
 * once, what comes often together.
 */
export function createGroups<Item, Result>(
  answerAll: (items: readonly Item[]) => Promise<readonly Result[]>,
  { paceMs = 0, silentAfterMs = 5_000 }: { paceMs?: number; silentAfterMs?: number } = {},
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isAsking = false;
  let nextAtMs = 0;

  const answer = async (group: Waiting<Item, Result>[]) => {
    const beganMs = performance.now();
    try {
      const results = await answerAll(group.map(({ item }) => item));
      group.forEach(({ done }, i) => void done.resolve(results[i] as Result));
    } catch (error) {
      const isSilent = performance.now() - beganMs > silentAfterMs;
      // Who came meanwhile would wait as long for the same, and more would come: they piled up.
      const told = isSilent ? [...group, ...waiting.splice(0)] : group;
      for (const { done } of told) done.reject(error);
    }
  };

  const askAll = async () => {
    isAsking = true;
    while (waiting.length > 0) {
      // Whatever arrives in the same turn of the event loop still comes along.
      await new Promise((resolve) => setImmediate(resolve));
      const earlyMs = nextAtMs - performance.now();
      if (earlyMs > 0) await delay(earlyMs);
      nextAtMs = performance.now() + paceMs;
      await answer(waiting.splice(0, maxGroup));
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

/**
 * Writes together what comes in together. When the data of one is at fault, each is written by itself,
 * so that it fails alone.
 */
export function createJointWrites<Item>(
  writeAll: (items: readonly Item[]) => Promise<void>,
): (item: Item) => Promise<void> {
  const write = createGroups(async (items: readonly Item[]): Promise<readonly unknown[]> => {
    try {
      await writeAll(items);
      return items.map(() => null);
    } catch (error) {
      if (items.length === 1 || !isOfData(error)) throw error;
    }
    const faults: unknown[] = [];
    for (const item of items) faults.push(await faultOf(() => writeAll([item])));
    return faults;
  });
  return async (item) => {
    const fault = await write(item);
    if (fault !== null) throw fault;
  };
}

async function faultOf(write: () => Promise<void>): Promise<unknown> {
  try {
    await write();
    return null;
  } catch (error) {
    return error;
  }
}

/**
 * Whether the data of a write is at fault, so that it can never be written however often it is tried:
 * SQLSTATE classes 22 (a value out of range, no text), 23 (a rule of the table) and 54 (too large),
 * or a time that is none.
 */
export function isOfData(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return (typeof code === "string" && unwritable.test(code)) || error instanceof RangeError;
}

const unwritable = /^(?:22|23|54)[0-9A-Z]{3}$/;
