/** How many queries the store is asked at a time. The time that a query has begins when it is asked. */
import pLimit from "p-limit";
import { engineError } from "./engine-error.ts";

/** Whoever waits longer is not there any more when the answer comes: a call may take a minute in all. */
export const patienceMs = 40_000;

export type TakeLane = ReturnType<typeof createLanes>;

/** Throws the `EngineError` of too many queries at the same time when no lane is free within the wait. */
export function createLanes(atOnce: number) {
  const lanes = pLimit(atOnce);
  return <Result>(work: () => Promise<Result>, waitAtMostMs = patienceMs): Promise<Result> =>
    new Promise((resolve, reject) => {
      let hasLeft = false;
      const leave = () => {
        hasLeft = true;
        reject(engineError("quota"));
      };
      const timer = setTimeout(leave, waitAtMostMs).unref();
      void lanes(async () => {
        clearTimeout(timer);
        if (!hasLeft) await work().then(resolve, reject);
      });
    });
}
