/** A look at a deploy, and further ones as soon as its workload has changed: sooner than the next poll would come. */
import type { SentinelObservation } from "#fleet/drivers/driver.ts";
import type { Place } from "./calls.ts";
import type { Changes } from "./changes.ts";

/** `isMoving`: a step was taken, after which there will soon be another one. */
export type StepObservation = SentinelObservation & { isMoving?: boolean };

/** In one call, and of those how many although nothing moves. */
const mostLooks = 5;
const leastLooks = 2;

/** A pod that fails does not change its workload, which is looked at after this time anyway. */
const changeWithinMs = 1_000;

type Looking = {
  changes: Changes;
  signal: AbortSignal | undefined;
  look: () => Promise<StepObservation>;
};

export async function lookAgain(place: Place, looking: Looking): Promise<SentinelObservation> {
  for (let looks = 1; ; looks++) {
    const { seen, isLast } = await lookOnce(place, looks, looking);
    if (isLast) return seen;
  }
}

async function lookOnce(place: Place, looks: number, { changes, signal, look }: Looking) {
  const over = new AbortController();
  const ends = AbortSignal.any([over.signal, ...(signal === undefined ? [] : [signal])]);
  // Waits from before the look on: a change during it counts.
  const changed = changes.next(place, changeWithinMs, ends);
  try {
    const { isMoving = false, ...seen } = await look();
    const isLast = isSettled(seen) || looks >= (isMoving ? mostLooks : leastLooks);
    if (!isLast) await changed;
    return { seen, isLast: isLast || ends.aborted };
  } finally {
    over.abort();
  }
}

/** It has ended, or there is nothing to wait for. */
function isSettled({ status, isOrdered }: SentinelObservation): boolean {
  return status !== "progressing" || isOrdered !== true;
}
