/** For work that nobody waits for any more once a signal is aborted, or a time is over. */

/** The result of `work`; as soon as the signal is aborted its reason is thrown, and the work left to itself. */
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

/** The result of `work`, which is aborted after `limitMs` with the error `late`, and left to itself. */
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
