/** Helpers for waiting: pauses, limits of time, backoff, and work in the background. */
import { setTimeout as delay } from "node:timers/promises";

/** Starts work that runs until `stop` is called, which aborts its signal and waits for its end. */
export function startBackground(work: (signal: AbortSignal) => Promise<void>): {
  stop: () => Promise<void>;
} {
  const stopping = new AbortController();
  const ended = work(stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

/**
 * Repeats `work` in the background: at once while it returns true, else after `pauseMs`, and later after failures, of
 * which `onFailed` gets the first of each row of them.
 */
export function startLoop(
  work: () => Promise<boolean>,
  { pauseMs, onFailed }: { pauseMs: number; onFailed: (error: Error) => void },
): { stop: () => Promise<void> } {
  const retries = { firstMs: pauseMs, longestMs: 30_000 };
  return startBackground(async (signal) => {
    for (let failures = 0; !signal.aborted; ) {
      const result = await work().catch((error: Error) => error);
      failures = result instanceof Error ? failures + 1 : 0;
      if (result instanceof Error && failures === 1) onFailed(result);
      if (result !== true) await pause(backoffMs(failures, retries), signal);
    }
  });
}

/** Exponential backoff after `failures`, `firstMs` to `longestMs`: for durable waits and endless retries, unlike p-retry. */
export function backoffMs(
  failures: number,
  { firstMs, longestMs }: { firstMs: number; longestMs: number },
): number {
  return Math.min(firstMs * 2 ** Math.min(failures, 30), longestMs);
}

/** The answer; `otherwise` when the request takes longer than `limitMs`, or fails. */
export async function inTime<Answer>(
  ask: () => Promise<Answer>,
  { limitMs, otherwise }: { limitMs: number; otherwise: Answer },
): Promise<Answer> {
  const late = Promise.withResolvers<Answer>();
  const timer = setTimeout(() => late.resolve(otherwise), limitMs);
  try {
    return await Promise.race([ask().catch(() => otherwise), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits. An abort ends the wait early, without an error. Leaves no listener on the signal afterwards. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(Math.max(0, ms), undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

// Stops waiting for work when a signal is aborted or a timeout is over.

/** The result of `work`. Throws the signal's reason as soon as it is aborted; the work isn't stopped. */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return work;
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The result of `work`. Throws `late` after `limitMs` and aborts the work's signal without waiting for it. */
export async function unlessLate<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { limitMs, late }: { limitMs: number; late: Error },
): Promise<Result> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(late), limitMs).unref();
  try {
    return await unlessAborted(work(limit.signal), limit.signal);
  } finally {
    clearTimeout(timer);
  }
}

export function within(limitMs: number, signal?: AbortSignal): AbortSignal {
  const late = AbortSignal.timeout(limitMs);
  return signal === undefined ? late : AbortSignal.any([late, signal]);
}

/** Lets all who ask while work is under way share it: the next who asks after its end starts anew, also after a failure. */
export function onceAtATime<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  return () => {
    current ??= work().finally(() => {
      current = undefined;
    });
    return current;
  };
}
