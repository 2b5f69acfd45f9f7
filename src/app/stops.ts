/** What has been started, and how each of it is stopped again. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "#kernel/log.ts";

export type Stops = {
  /** `part` is the name that the log calls it by; `limitMs` is how long it may take, half a minute if absent. */
  add: (part: string, stop: () => unknown, limitMs?: number) => void;
  /** The last one started comes first. One that does not stop well, or in time, is logged and left behind. */
  run: () => Promise<void>;
};

const usualLimitMs = 30_000;

/** Of a part that lets its callers finish: a call takes a minute at most. */
export const callersLimitMs = 75_000;

export function createStops(log: Log): Stops {
  const started: { part: string; stop: () => unknown; limitMs: number }[] = [];
  return {
    add: (part, stop, limitMs = usualLimitMs) => {
      started.push({ part, stop, limitMs });
    },
    run: async () => {
      for (const { part, stop, limitMs } of started.splice(0).reverse()) {
        await within(stop, limitMs).catch((err) => log.error({ part, err }, "part not stopped"));
      }
    },
  };
}

async function within(stop: () => unknown, limitMs: number): Promise<void> {
  const settled = new AbortController();
  const late = delay(limitMs, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`it did not stop within ${limitMs} ms`);
  });
  late.catch(() => {});
  await Promise.race([Promise.try(stop), late]).finally(() => settled.abort());
}
