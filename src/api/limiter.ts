/** What counts against a limit: the contract of the engines. */

/** `key` names workspace, limit and who is limited. Limit 0 blocks; cost 0 only looks. */
export type LimitRequest = { key: string; limit: number; durationMs: number; cost: number };

/** `resetMs`: when the window ends, unix milliseconds. */
export type LimitAnswer = { passed: boolean; remaining: number; resetMs: number };

export type TakeAnswer = { passed: boolean; answers: LimitAnswer[] };

export type Limiter = {
  /** All or nothing: when one does not pass, none is counted. Answers are in the order asked. */
  take: (requests: readonly LimitRequest[], nowMs: number) => TakeAnswer | Promise<TakeAnswer>;
  close: () => Promise<void>;
};
