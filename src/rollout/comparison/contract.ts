/** The comparison's input, durable state and answer. Times are Unix ms; arrays have one entry a whole minute. */

export type History = {
  /** The time of index 0 of all arrays. */
  first_minute: number;
  /** The ledger of the last look of this rollout. Without it all looks are made again, with the same evidence. */
  ledger?: Ledger;
  rollout: {
    started_at: number;
    /** The planned soak of a wave. */
    soak_minutes: number;
    /** The gated waves: those that leave sentinels on the old image. `settled_at`: the last update, null: not yet. */
    waves: { settled_at: number | null }[];
  };
  sentinels: ComparedSentinel[];
};

/** The increments of a sentinel in each minute. A minute that it did not report is NaN, or past the array's end. */
export type Readings = {
  requests: Float64Array;
  /** Answers with a status of 500 or above. */
  errors: Float64Array;
  /** Requests that took longer than the reference bound. */
  slow: Float64Array;
  restarts: Float64Array;
};

/** `updated_at`: since when it runs the new image; null: it runs the old one. */
export type ComparedSentinel = Readings & {
  id: string;
  region: string;
  updated_at: number | null;
};

/** JSON, part of the rollout's durable state. */
export type Ledger = {
  /** Evidence of all waves that the new image is worse. */
  total: number;
  /** Index of the wave of the last look. */
  wave: number;
  /** The minute of the soak of the last look; 0: none yet. */
  look: number;
  /** When the guard first found a gross failure. */
  guard: number | null;
  /** Evidence of this wave, by metric in the order of `metrics` in defaults.ts; null before its first look. */
  sums: Record<Claim, number[]> | null;
};

/** The claims that evidence is collected for: that the new image is worse, not worse, or better than the old one. */
export type Claim = "worse" | "notWorse" | "better";

export type Verdict = {
  verdict: "worse" | "better" | "not_worse" | "inconclusive";
  /** True if the rollout may continue before the soak ends. */
  may_go_early: boolean;
  reason: string;
  ledger: Ledger;
  evidence: {
    /** The new image is worse from this `total` on. */
    threshold: number;
    total: number;
    guard?: boolean;
    /** The draws that the new sentinels are compared with: of this minute, or with earlier ones of the same sentinels. */
    mode?: "exact" | "history";
    new_sentinels?: number;
    old_sentinels?: number;
    metrics: MetricEvidence[];
  };
};

export type MetricEvidence = {
  metric: "errors" | "slow" | "restarts";
  new: SideCounts;
  old: SideCounts;
  /** The count of the new side as the old side predicts it. */
  expected: number;
  /** This wave's part of `total`. */
  worse: number;
  /** Proven from `proof` on, like `better`. */
  not_worse: number;
  better: number;
  proof: number;
};

/** `exposure` is in requests, of restarts in minutes; `rate` is the count per exposure, 0 without any. */
type SideCounts = { count: number; exposure: number; rate: number };
