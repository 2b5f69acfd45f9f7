/** Tells a server that hangs from a slow one by a sign of life: without one all requests fail until it answers again. */

/** The server accepts connections and answers nothing. What it was asked before may still be done once it continues. */
export class HungError extends Error {
  /** The SQLSTATE of a connection that failed: whoever handles a lost connection handles this. */
  readonly code = "08006";
}

/** True if a `HungError` is the error or one of its causes. */
export function isHung(error: unknown): boolean {
  return error instanceof HungError || (error instanceof Error && isHung(error.cause));
}

export type HangWatch = {
  /** `fail` is called, at most once, when the server hangs before the returned function has been called. */
  waitFor: (fail: (error: HungError) => void) => () => void;
  /** The result of `work`. Throws the `HungError` while the server hangs; what comes later goes to `onLate`. */
  run: <Result>(work: () => Promise<Result>, onLate?: (result: Result) => void) => Promise<Result>;
  /** True if the server gave a sign of life that it was asked for after that time (`performance.now()`). */
  isAliveSince: (sinceMs: number) => boolean;
  close: () => void;
};

export type HangWatchSettings = {
  /** Names the server in the error: "the database". */
  server: string;
  /** Any answer, a refusal too, is a sign of life. The signal is aborted when it did not come in time. */
  askForSign: (signal: AbortSignal) => Promise<unknown>;
  /** Grows with whatever the server answers on other connections, which is a sign of life as well. */
  countAnswers?: () => number;
  /** A request is slow after this time; then the server is asked. */
  slowAfterMs?: number;
  /** Called whenever it is found to hang. */
  onHung?: (error: HungError) => void;
};

/** The default together stays below the five seconds in which callers are answered, with room for a busy machine. */
const pollEveryMs = 250;
const signWithinMs = 2_500;

/** The least between two questions while requests are slow, but the server lives. */
const askAgainAfterMs = 1_000;

export function createHangWatch(settings: HangWatchSettings): HangWatch {
  const { server, askForSign, countAnswers = () => 0, onHung, slowAfterMs = 500 } = settings;
  const againAfterMs = Math.max(slowAfterMs, askAgainAfterMs);
  /** The oldest first. */
  const waiting = new Map<object, { sinceMs: number; fail: (error: HungError) => void }>();
  let timer: NodeJS.Timeout | undefined;
  let isAsking = false;
  let isClosed = false;
  let signAtMs = Number.NEGATIVE_INFINITY;
  let hung: HungError | undefined;

  const failAll = () => {
    hung = new HungError(`${server} does not answer`);
    const failed = [...waiting.values()];
    waiting.clear();
    onHung?.(hung);
    for (const { fail } of failed) fail(hung);
  };
  const ask = async () => {
    isAsking = true;
    const answersBefore = countAnswers();
    const hasSign = (await answersInTime(askForSign)) || countAnswers() > answersBefore;
    isAsking = false;
    if (isClosed) return;
    if (!hasSign) return failAll();
    signAtMs = performance.now();
    hung = undefined;
  };
  const poll = () => {
    const [oldest] = waiting.values();
    if (oldest === undefined && hung === undefined) {
      clearInterval(timer);
      timer = undefined;
      return;
    }
    const nowMs = performance.now();
    const isSlow = oldest !== undefined && nowMs - oldest.sinceMs >= slowAfterMs;
    const isDue = hung !== undefined || (isSlow && nowMs - signAtMs >= againAfterMs);
    if (isDue && !isAsking) void ask();
  };
  const waitFor: HangWatch["waitFor"] = (fail) => {
    const ticket = {};
    waiting.set(ticket, { sinceMs: performance.now(), fail });
    if (!isClosed) timer ??= setInterval(poll, pollEveryMs).unref();
    return () => void waiting.delete(ticket);
  };
  return {
    waitFor,
    run: (work, onLate) =>
      new Promise((resolve, reject) => {
        if (hung !== undefined) return reject(hung);
        let take: typeof onLate = resolve;
        const end = waitFor((error) => {
          take = onLate;
          reject(error);
        });
        work()
          .then((result) => take?.(result), reject)
          .finally(end);
      }),
    isAliveSince: (sinceMs) => signAtMs > sinceMs,
    close: () => {
      isClosed = true;
      clearInterval(timer);
    },
  };
}

async function answersInTime(ask: HangWatchSettings["askForSign"]): Promise<boolean> {
  const late = new AbortController();
  const answered = ask(late.signal).then(
    () => true,
    () => true,
  );
  const { promise: silence, resolve } = Promise.withResolvers<false>();
  // An answer that arrived while this process was busy is read first: it was in time.
  const timer = setTimeout(() => setImmediate(resolve, false), signWithinMs);
  const hasAnswered = await Promise.race([answered, silence]);
  clearTimeout(timer);
  late.abort();
  return hasAnswered;
}
