/** Stops waiting for work when a signal is aborted or a timeout is over. */

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

/** A signal that is aborted with the given one, or after `limitMs`. */
export function within(limitMs: number, signal?: AbortSignal): AbortSignal {
  const late = AbortSignal.timeout(limitMs);
  return signal === undefined ? late : AbortSignal.any([late, signal]);
}
