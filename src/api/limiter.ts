/** The interface of every limiter, which counts requests against limits. */

/** `key` names workspace, limit and the limited caller. Limit 0 blocks; cost 0 reads without counting. */
export type LimitRequest = { key: string; limit: number; durationMs: number; cost: number };

/** `resetMs`: when the window ends, unix milliseconds. */
export type LimitAnswer = { passed: boolean; remaining: number; resetMs: number };

export type TakeAnswer = { passed: boolean; answers: LimitAnswer[] };

export type Limiter = {
  /** Counts all or nothing: when one does not pass, none is counted. Answers are in the order of `requests`. */
  take: (requests: readonly LimitRequest[], nowMs: number) => TakeAnswer | Promise<TakeAnswer>;
  close: () => Promise<void>;
};

/** The key up to the first slash: the workspace, or what is counted for one by itself, as its calls of a minute. */
export function ownerOf(key: string): string {
  const slash = key.indexOf("/");
  return slash === -1 ? key : key.slice(0, slash);
}
