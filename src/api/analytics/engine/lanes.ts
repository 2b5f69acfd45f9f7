/** Bounds the concurrent queries of the store. A query's time limit begins when it is sent. */
import pLimit from "p-limit";
import { engineError } from "./engine-error.ts";

/** The longest wait for a lane: a call may take a minute in all, after which its caller gets a timeout. */
export const laneTimeoutMs = 40_000;

export type TakeLane = ReturnType<typeof createLanes>;

/** Throws the `EngineError` of too many queries at the same time when no lane is free within the wait. */
export function createLanes(atOnce: number) {
  const lanes = pLimit(atOnce);
  return <Result>(work: () => Promise<Result>, waitAtMostMs = laneTimeoutMs): Promise<Result> =>
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
