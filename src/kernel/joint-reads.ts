/**
 * Reads by name in groups: what is asked for while earlier groups are read is read together as the next one. Other than in
 * `groups.ts`, which keeps an order, several are read at a time, and one that hangs does not hold back the next.
 */
import pLimit from "p-limit";
import { inTime } from "./in-time.ts";

/** More groups are not read at once; further names then wait to join one. */
const maxGroups = 4;

/** The most names of one group: all of them wait for the slowest, and fail with it. */
export const maxNames = 20;

/** A read no longer keeps others waiting after this: its connection may be dead, and others may be free. */
const usualSlowMs = 250;

/** `found`: what was read, by name. */
type Group<Found> = { names: Set<string>; found: Promise<ReadonlyMap<string, Found>> };

/**
 * Returns a function that reads one name, which is undefined when `readAll` left it out. Every read begins after it was
 * asked for, so that it sees all changes of before. `readAll` is given `maxNames` at most; when it throws, all of them
 * fail.
 */
export function createJointReads<Found>(
  readAll: (names: readonly string[]) => Promise<ReadonlyMap<string, Found>>,
  { slowMs = usualSlowMs }: { slowMs?: number } = {},
): (name: string) => Promise<Found | undefined> {
  const limit = pLimit(maxGroups);
  /** The last group that has not begun. */
  let next: Group<Found> | undefined;

  const createGroup = (): Group<Found> => {
    const names = new Set<string>();
    const { promise: found, resolve } = Promise.withResolvers<ReadonlyMap<string, Found>>();
    void limit(async () => {
      // Names asked for in the same turn of the event loop still join the group.
      await new Promise((joined) => setImmediate(joined));
      if (next?.names === names) next = undefined;
      const reading = (async () => readAll([...names]))();
      resolve(reading);
      await inTime<unknown>(() => reading, { limitMs: slowMs, otherwise: undefined });
    });
    return { names, found };
  };

  return async (name) => {
    if (next === undefined || next.names.size >= maxNames) next = createGroup();
    next.names.add(name);
    return (await next.found).get(name);
  };
}
