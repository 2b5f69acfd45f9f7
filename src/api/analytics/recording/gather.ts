/** How long rows wait for others: a write of the journal costs as much as a row or two. */
import { setTimeout as delay, setImmediate as endOfTurn } from "node:timers/promises";
import { createIsLoopBusy } from "#kernel/loop-load.ts";

/** Where the loop is busy, less work makes answers earlier than this makes them late. */
const gatherMs = 1;

/** Resolves when the rows so far are to be written: at the end of the turn, or a millisecond later while the loop is busy. */
export function createGather(isBusy = createIsLoopBusy()): () => Promise<unknown> {
  return () => (isBusy() ? delay(gatherMs) : endOfTurn());
}
