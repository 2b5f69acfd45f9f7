/** Invalidations for the threads of a process, of which one listens to those of other processes. */
import { ChangeLog, type ChangeMemory, createChangeMemory } from "./change-log.ts";
import { announce, type Invalidations, lostAfterMs, type Stale } from "./invalidation.ts";

export type InvalidationMemory = {
  changes: ChangeMemory;
  /** The moment until which everything that was announced has been received, as `sharedNow` tells it. */
  receivedAt: Float64Array;
};

export function createInvalidationMemory(): InvalidationMemory {
  const receivedAt = new Float64Array(new SharedArrayBuffer(8));
  receivedAt[0] = Number.NEGATIVE_INFINITY;
  return { changes: createChangeMemory(), receivedAt };
}

/** A thread that does nothing reads what has changed at least so often, so that the ring has room. */
const readEveryMs = 250;

/**
 * `performance.now()` counts from the start of each thread: what has to be added so that it is the same in all. The
 * least of some readings, as a thread may stand still between the two clocks.
 */
const sinceBootMs = Math.min(
  ...Array.from({ length: 5 }, () => {
    const ownMs = performance.now();
    return Number(process.hrtime.bigint()) / 1e6 - ownMs;
  }),
);

/** The invalidations of one thread. */
export function createThreadInvalidations(memory: InvalidationMemory): Invalidations {
  const log = new ChangeLog(memory.changes);
  const listeners: ((stale: Stale | undefined) => void)[] = [];
  const catchUp = () => {
    if (!log.hasNews()) return;
    for (const stale of log.read()) {
      for (const listener of listeners) listener(stale);
    }
  };
  const timer = setInterval(catchUp, readEveryMs).unref();
  return {
    isLive: (now = performance.now()) =>
      now + sinceBootMs - (memory.receivedAt[0] as number) < lostAfterMs,
    announce,
    apply: (stale) => {
      log.write(stale);
      catchUp();
    },
    catchUp,
    subscribe: (listener) => listeners.push(listener),
    close: async () => clearInterval(timer),
  };
}

/** Relays the invalidations that the listening thread receives. */
export function createInvalidationRelay(memory: InvalidationMemory) {
  const log = new ChangeLog(memory.changes);
  return {
    onStale: (stale: readonly (Stale | undefined)[]) => log.write(stale),
    /** `sentAt`: by this thread's `performance.now()`. */
    onReceived: (sentAt: number) => {
      memory.receivedAt[0] = sentAt + sinceBootMs;
    },
  };
}
