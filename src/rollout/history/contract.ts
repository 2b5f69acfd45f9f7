/** Schemas of a rollout from history, for pages that show it. */
import { z } from "zod";
import { CiRun } from "#kernel/roles.ts";
import { RolloutStatus } from "#rollout/contract.ts";
import { GateStatus } from "#rollout/gates/contract.ts";

const WaveView = z.object({
  wave: z.int(),
  percentage: z.int(),
  size: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  reverted: z.int(),
  not_reverted: z.int(),
  /** The start of the wave, and the time when all of its sentinels had a result; null before. */
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
});
export type WaveView = z.infer<typeof WaveView>;

const MessageView = z.object({
  sequence: z.int(),
  event: z.string(),
  /** The operator who caused it; null: none did. */
  actor: z.string().nullable(),
  at: z.string(),
  title: z.string(),
  tone: z.enum(["info", "success", "warning", "danger"]),
  lines: z.array(z.string()),
  delivery: z.object({
    outcome: z.enum(["queued", "sending", "delivered", "dropped", "refused", "given_up"]),
    attempts: z.int(),
    detail: z.string().nullable(),
    at: z.string().nullable(),
  }),
});
export type MessageView = z.infer<typeof MessageView>;

/** Sentinels that failed, or were not reverted, for reasons of one code. `ids`: 20 at most. */
const Failure = z.object({
  code: z.string(),
  count: z.int(),
  ids: z.array(z.string()),
  /** The most frequent whole reasons, three at most; `of`: how many different ones there are. */
  reasons: z.array(z.object({ reason: z.string(), count: z.int() })),
  of: z.int(),
});
export type Failure = z.infer<typeof Failure>;

/** A rollout with all its details, but without the list of its sentinels. */
export const RolloutDetail = z.object({
  status: RolloutStatus,
  requested_image: z.string().nullable(),
  started_by: z.string().nullable(),
  /** The job of CI that has started it. */
  ci_run: CiRun.optional(),
  ended_at: z.string().nullable(),
  wave_percentages: z.array(z.int()),
  reverted: z.int(),
  waves: z.array(WaveView),
  messages: z.array(MessageView),
  /** The images that a rollback would restore, and how many sentinels get each. */
  previous_images: z.array(z.object({ image: z.string(), sentinels: z.int() })),
  /** The checks of the gate between waves, in its order. Absent: there is no gate. */
  gate_checks: z.array(z.string()).optional(),
  /** The last readings of the gates, as they were when the rollout paused or went on. */
  gate: GateStatus.optional(),
  /** Why sentinels failed, by the reason's code, the most frequent first. */
  failures: z.array(Failure),
});
export type RolloutDetail = z.infer<typeof RolloutDetail>;

/** The wave without the counts of its sentinels, which are counted when it is read. */
export type RecordedWave = Pick<
  WaveView,
  "wave" | "percentage" | "size" | "started_at" | "ended_at"
>;
export type RecordedRollout = Omit<RolloutDetail, "waves" | "reverted" | "failures"> & {
  waves: RecordedWave[];
};

/** Seconds since the start, and how many sentinels had a result by then. */
export const Progress = z.object({ seconds: z.array(z.number()), done: z.array(z.int()) });
export type Progress = z.infer<typeof Progress>;

/** A sentinel in a rollout: its wave and outcome; null: none yet, and no wave for one that was left out of all. */
export type Member = {
  id: string;
  wave: number | null;
  outcome: string | null;
  outcome_reason: string | null;
  /** Why it failed, also once a rollback has put it back; null: it has not. */
  failure: string | null;
};

/** One change of a sentinel's outcome; times in ms since 1970. */
type OutcomeMoment = {
  /** null: it has none any more, because its deploy is tried again. */
  outcome: string | null;
  atMs: number;
  /** The time at which the deploy with this outcome was ordered; null: it is not known. */
  orderedMs: number | null;
};

/** The outcomes of a sentinel in a rollout, the oldest change first. */
export type MemberHistory = {
  id: string;
  /** null: left out of all waves. */
  wave: number | null;
  moments: OutcomeMoment[];
};

/** A deploy of one sentinel, as its rollout ended it; by whichever rollout. */
export const SentinelDeploy = z.object({
  rollout_id: z.string(),
  started_at: z.string(),
  rollout_state: z.string(),
  image: z.string(),
  /** The image that a rollback restores; empty: not known. */
  previous_image: z.string(),
  /** null: it was left out of all waves. */
  wave: z.int().nullable(),
  /** null: none yet. */
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  /** Why it failed, also once a rollback has put it back; null: it has not. */
  failure: z.string().nullable(),
  /** The time at which the outcome was recorded; without one, that of the rollout's members. */
  at: z.string(),
});
export type SentinelDeploy = z.infer<typeof SentinelDeploy>;

/** An image that a fleet has run, or that was rolled out to it. */
export const SeenImage = z.object({
  image: z.string(),
  /** The number of sentinels that run it now. */
  running: z.int(),
  /** Its newest rollout; null: none had it. */
  rollout: z
    .object({
      id: z.string(),
      started_at: z.string(),
      state: z.string(),
      outcome: z.string().nullable(),
      succeeded: z.int(),
      failed: z.int(),
    })
    .nullable(),
});
export type SeenImage = z.infer<typeof SeenImage>;
