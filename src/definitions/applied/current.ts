/** The definitions in force, for everything that reads them in this process. */
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { onceAtATime, unlessLate } from "#kernel/async.ts";
import { createGroups } from "#kernel/groups.ts";
import type { Log } from "#kernel/log.ts";
import type { Definitions, HowFresh } from "#monitor/contract.ts";
import type { DefinitionStore } from "./store.ts";

type Current = { applyId: string | null; set: DefinitionSet; monitored: Definitions };

type Parts = {
  store: Pick<DefinitionStore, "readCurrent" | "readApplyId">;
  /** The definitions in force while nothing was ever applied. */
  standard: DefinitionSet;
  /** Adds what this process's settings say about the rows. */
  complete: (monitored: Definitions) => Definitions;
  log: Log;
  nowMs: () => number;
};

/** The maximal age of an answer: another process may have applied others meanwhile. */
const freshMs = 1_000;

/** The wait for a fresh answer of a caller that takes the known one too. */
const orKnownMs = 1_000;

export function createCurrentDefinitions({ store, standard, complete, log, nowMs }: Parts) {
  let known: (Current & { atMs: number }) | undefined;

  const refresh = async (): Promise<Current> => {
    const atMs = nowMs();
    const applyId = await store.readApplyId();
    const next = applyId === known?.applyId ? known : await load();
    known = { ...next, atMs };
    return known;
  };
  const load = async (): Promise<Current> => {
    const found = await store.readCurrent();
    const set = found?.set ?? standard;
    return { applyId: found?.applyId ?? null, set, monitored: complete(toMonitored(set)) };
  };
  // After a change the objects of all checks ask at once; each is answered by a look that began after it had asked.
  const readFresh = createGroups(async (asked: readonly null[]) => {
    const current = await refresh();
    return asked.map(() => current);
  });
  const readShared = onceAtATime(refresh);
  const read = async ({ isFresh, orKnown }: HowFresh = { isFresh: false }): Promise<Current> => {
    const before = known;
    if (isFresh && orKnown === true && before !== undefined) {
      const late = new Error("the database does not answer in time");
      const fresh = unlessLate(() => readFresh(null), { limitMs: orKnownMs, late });
      return fresh.catch(() => before);
    }
    if (isFresh) return readFresh(null);
    if (known !== undefined && Math.abs(nowMs() - known.atMs) < freshMs) return known;
    return readShared().catch((error) => {
      if (known === undefined) throw error;
      log.debug({ detail: (error as Error).message }, "definitions not read");
      return known;
    });
  };
  return {
    readSet: async (how?: HowFresh) => (await read(how)).set,
    readMonitored: async (how?: HowFresh) => (await read(how)).monitored,
  };
}
