/** What the hot path calls to record a verification or a limit decision. */

/** One answered `keys.verifyKey`. Ids that do not apply are empty. */
export type VerificationRow = {
  request_id: string;
  /** Unix milliseconds. */
  time: number;
  workspace_id: string;
  key_space_id: string;
  identity_id: string;
  external_id: string;
  key_id: string;
  region: string;
  source: "api" | "gateway";
  outcome: string;
  tags: string[];
  spent_credits: number;
  /** Milliseconds. */
  latency: number;
};

/** One answered rate limit decision. Ids that do not apply are empty. */
export type RatelimitRow = {
  request_id: string;
  /** Unix milliseconds. */
  time: number;
  workspace_id: string;
  namespace_id: string;
  identifier: string;
  passed: boolean;
  /** Milliseconds. */
  latency: number;
  override_id: string;
  limit: number;
  remaining: number;
  /** Unix milliseconds. */
  reset_at: number;
  /** The cost of the decision. */
  tokens: number;
};

/** In rows. Always: recorded + recovered = stored + dropped + buffered + spooled. */
export type RecorderCounters = {
  /** Handed over since the start of the process. */
  recorded: number;
  /** Found on disk at the start, left by an earlier run. */
  recovered: number;
  /** Confirmed by the store. */
  stored: number;
  /** Given up, for want of space or because the store refuses them for good. Each loss is logged. */
  dropped: number;
  /** Now in memory. */
  buffered: number;
  /** Now on disk, waiting for the store. */
  spooled: number;
};

/** `verification` and `ratelimit` are synchronous and never throw. */
export type Recorder = {
  verification(row: VerificationRow): void;
  ratelimit(row: RatelimitRow): void;
  /** Writes what is in memory to disk and waits until the store has all of it, or fails to take it. */
  flush(): Promise<void>;
  /** Writes what is in memory to disk, tries the store once more, and stops. */
  close(): Promise<void>;
  counters(): RecorderCounters;
};
