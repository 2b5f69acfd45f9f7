/** What is kept of each verification and each limit decision. */

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
  tokens: number;
};

/** Neither call waits nor throws. */
export type Recorder = {
  verification: (row: VerificationRow) => void;
  ratelimit: (row: RatelimitRow) => void;
  flush: () => Promise<void>;
  close: () => Promise<void>;
};
