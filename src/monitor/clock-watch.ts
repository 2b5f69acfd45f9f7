/**
 * Notices that this machine's clock was set back. Restate's timers go by the clock: each that was set
 * before goes off so much later, as if whoever waits for it had all that time.
 */
import { setTimeout as delay } from "node:timers/promises";
import { startBackground } from "#kernel/background.ts";
import type { Log } from "#kernel/log.ts";

type Parts = {
  /** Called until it succeeds. */
  onSetBack: () => Promise<void>;
  log: Log;
  /** How far the clock is ahead of one that goes on evenly. */
  aheadMs?: () => number;
  /** Rejects when it is aborted. */
  pause?: (ms: number, value: undefined, options: { signal: AbortSignal }) => Promise<void>;
};

const lookEveryMs = 1_000;
/** One that is slowed down to be right again goes back by far less between two looks. */
const leastStepMs = 2_000;

export function watchClock(parts: Parts): { stop: () => Promise<void> } {
  return startBackground((signal) => watch(parts, signal));
}

async function watch(parts: Parts, signal: AbortSignal): Promise<void> {
  const { onSetBack, log, aheadMs = ownAheadMs, pause = delay } = parts;
  let knownMs = aheadMs();
  while (!signal.aborted) {
    await pause(lookEveryMs, undefined, { signal }).catch(() => {});
    const seenMs = aheadMs();
    const backMs = Math.round(knownMs - seenMs);
    try {
      if (backMs > leastStepMs && !signal.aborted) {
        await onSetBack();
        log.warn({ backMs }, "the clock was set back: what waits for its timers goes on now");
      }
      knownMs = seenMs;
    } catch (error) {
      const { message: detail } = error as Error;
      log.warn({ backMs, detail }, "the clock was set back: nobody could be told yet");
    }
  }
}

function ownAheadMs(): number {
  return Date.now() - performance.now();
}
