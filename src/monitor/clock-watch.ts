/** Detects that the clock was set back: Restate's timers follow it, and those set before fire as much later. */
import { setTimeout as delay } from "node:timers/promises";
import { startBackground } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";

type Parts = {
  /** Called until it succeeds. */
  onSetBack: () => Promise<void>;
  log: Log;
  /** Returns how far the clock is ahead of a monotonic one. */
  aheadMs?: () => number;
  /** Rejects when it is aborted. */
  pause?: (ms: number, value: undefined, options: { signal: AbortSignal }) => Promise<void>;
};

const pollEveryMs = 1_000;
/** A clock that is slewed to correct it moves back by far less between two polls. */
const minStepMs = 2_000;

export function watchClock(parts: Parts): { stop: () => Promise<void> } {
  return startBackground((signal) => watch(parts, signal));
}

async function watch(parts: Parts, signal: AbortSignal): Promise<void> {
  const { onSetBack, log, aheadMs = ownAheadMs, pause = delay } = parts;
  let knownMs = aheadMs();
  while (!signal.aborted) {
    await pause(pollEveryMs, undefined, { signal }).catch(() => {});
    const seenMs = aheadMs();
    const backMs = Math.round(knownMs - seenMs);
    try {
      if (backMs > minStepMs && !signal.aborted) {
        await onSetBack();
        log.warn({ backMs }, "the clock was set back: timers were started again");
      }
      knownMs = seenMs;
    } catch (error) {
      const { message: detail } = error as Error;
      log.warn({ backMs, detail }, "the clock was set back: timers not started again yet");
    }
  }
}

function ownAheadMs(): number {
  return Date.now() - performance.now();
}
