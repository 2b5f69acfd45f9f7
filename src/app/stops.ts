/** The parts that have been started, and how to stop them. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "#kernel/log.ts";

export type Stops = {
  /** Aborted when the program must stop while it starts. */
  signal: AbortSignal | undefined;
  /** `part`: name in the log; `limitMs` of stopping, else 30 s. Throws when `signal` is aborted, and stops the part too. */
  add: (part: string, stop: () => unknown, limitMs?: number) => void;
  /** Starts a part with processes, stopped even while it starts: `start` must end with `signal` and leave no process. */
  start: <Part extends { stop: () => unknown }>(
    part: string,
    begin: () => Promise<Part>,
  ) => Promise<Part>;
  /** Stops the parts in reverse order. A part that fails to stop, or not in time, is logged and skipped. */
  run: () => Promise<void>;
};

const usualLimitMs = 30_000;

/** Limit for a part that lets its callers finish: a call takes a minute at most. */
export const callersLimitMs = 75_000;

export function createStops(log: Log, signal?: AbortSignal): Stops {
  const started: { part: string; stop: () => unknown; limitMs: number }[] = [];
  const add: Stops["add"] = (part, stop, limitMs = usualLimitMs) => {
    started.push({ part, stop, limitMs });
    signal?.throwIfAborted();
  };
  return {
    signal,
    add,
    start: async (part, begin) => {
      signal?.throwIfAborted();
      const begun = begin();
      // The caller handles a failure; here there is nothing to stop then.
      add(part, () => begun.then(({ stop }) => stop(), ignoreFailure));
      return begun;
    },
    run: async () => {
      for (const { part, stop, limitMs } of started.splice(0).reverse()) {
        await within(stop, limitMs).catch((err) => log.error({ part, err }, "part not stopped"));
      }
    },
  };
}

function ignoreFailure(): void {}

async function within(stop: () => unknown, limitMs: number): Promise<void> {
  const ended = new AbortController();
  const late = delay(limitMs, undefined, { signal: ended.signal }).then(() => {
    throw new Error(`it did not stop within ${limitMs} ms`);
  });
  late.catch(() => {});
  const stopped = (async () => stop())();
  await Promise.race([stopped, late]).finally(() => ended.abort());
}
