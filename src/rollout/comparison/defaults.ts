/** The comparison's settings: error rates, limits and bets. Each was tried in simulation (`bench/comparison.ts`). */
import type { Claim, MetricEvidence } from "./contract.ts";

/** The greatest share of rollouts of a tolerable image that the test stops: over all looks, metrics and waves. */
export const alpha = 0.01;
/** The greatest share of waves of an image beyond the margin that are said to be not worse. */
export const beta = 0.05;

/** Minutes between the last update of a wave and its soak: a new process is slow at first. */
export const warmupMinutes = 3;
/** Minutes before the rollout that say how each sentinel behaves on the old image. */
export const baseMinutes = 60;
/** Minutes before the rollout that history mode reads. */
export const pastMinutes = 240;

export type Metric = {
  name: MetricEvidence["metric"];
  label: string;
  /** Count per exposure that is never proof of a worse image. */
  tolerate: number;
  /** Count per exposure above the old image's that has to be excluded before the soak may end early. */
  exclude: number;
  /** The size of the negative binomial distribution; estimated if absent. */
  size?: number;
};

/** Exposure is in requests, of restarts in minutes. */
export const metrics: readonly Metric[] = [
  { name: "errors", label: "errors", tolerate: 0.0001, exclude: 0.001 },
  { name: "slow", label: "slow requests", tolerate: 0.001, exclude: 0.01 },
  { name: "restarts", label: "restarts", tolerate: 1 / 1440, exclude: 1 / 10, size: 10 },
];

/** A bet that a new sentinel counts `times` what is expected; its log weight is cut at ±`limit`. */
export type Bet = { times: number; limit: number };

const down: readonly Bet[] = [
  { times: 0.7, limit: 6 },
  { times: 0.45, limit: 8 },
  { times: 0.25, limit: 8 },
];

/**
 * The boundary of each claim: the counts of one side are multiplied, or increased by the metric's `add` per exposure,
 * whichever is more, and then no different from the other side's if the image is exactly at the boundary.
 */
export const claims: Record<
  Claim,
  { moved: "old" | "new"; factor: number; add: "tolerate" | "exclude"; bets: readonly Bet[] }
> = {
  worse: {
    moved: "old",
    factor: 1.1,
    add: "tolerate",
    bets: [
      { times: 1.5, limit: 2 },
      { times: 2, limit: 3 },
      { times: 3, limit: 4 },
      { times: 8, limit: 8 },
    ],
  },
  notWorse: { moved: "old", factor: 1.5, add: "exclude", bets: down },
  better: { moved: "new", factor: 1.1, add: "tolerate", bets: down },
};

export const claimNames = ["worse", "notWorse", "better"] as const satisfies Claim[];

/** Exact mode needs so many possible draws (ln). */
export const leastDraws = 14;
/** Regions of fewer sentinels are one stratum together. */
export const leastOfRegion = 4;
/** No evidence of one look is above e to this. */
export const greatestEvidence = 300;

/** The guard against gross failure; its false alarms are measured, not bounded. */
export const guard = {
  minutes: 5,
  /** The first minute of the soak that it evaluates. */
  from: 3,
  leastRequests: 100,
  leastRequestsOfOne: 20,
  rate: 0.05,
  timesPredicted: 10,
  leastRate: 0.0001,
};
