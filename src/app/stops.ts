/** What has been started, and how each of it is stopped again. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "#kernel/log.ts";

export type Stops = {
  /** Aborted when the program is told to stop while it starts. */
  signal: AbortSignal | undefined;
  /**
   * `part` is the name that the log calls it by; `limitMs` is how long it may take, half a minute if absent.
   * Throws when the program has been told to stop: the part is stopped with the others all the same.
   */
  add: (part: string, stop: () => unknown, limitMs?: number) => void;
  /**
   * Begins a part that starts processes of its own. It is stopped also when nobody has waited for its start:
   * `begin` is to give up once `signal` is aborted, and then to leave nothing behind.
   */
  begin: <Part extends { stop: () => unknown }>(
    part: string,
    begin: () => Promise<Part>,
  ) => Promise<Part>;
  /** The last one started comes first. One that does not stop well, or in time, is logged and left behind. */
  run: () => Promise<void>;
};

const usualLimitMs = 30_000;

/** Of a part that lets its callers finish: a call takes a minute at most. */
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
    begin: async (part, begin) => {
      signal?.throwIfAborted();
      const begun = begin();
      // Whoever began it is told of a failure; here there is nothing to stop then.
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
  const settled = new AbortController();
  const late = delay(limitMs, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`it did not stop within ${limitMs} ms`);
  });
  late.catch(() => {});
  await Promise.race([Promise.try(stop), late]).finally(() => settled.abort());
}
