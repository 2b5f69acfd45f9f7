/** Measures how busy this thread's event loop is. */
import { performance } from "node:perf_hooks";

/** A measurement costs more than what asks for it. */
const measuredEveryMs = 100;

/** The part of the time that the loop works. */
const busyShare = 0.7;

type Loop = Pick<typeof performance, "now" | "eventLoopUtilization">;

/** Returns a function that is true if the event loop was nearly saturated at its last measurement. */
export function createIsLoopBusy(loop: Loop = performance): () => boolean {
  let last = loop.eventLoopUtilization();
  let nextAt = loop.now() + measuredEveryMs;
  let isBusy = false;
  return () => {
    const now = loop.now();
    if (now < nextAt) return isBusy;
    nextAt = now + measuredEveryMs;
    const current = loop.eventLoopUtilization();
    isBusy = loop.eventLoopUtilization(current, last).utilization >= busyShare;
    last = current;
    return isBusy;
  };
}
