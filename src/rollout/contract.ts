import { z } from "zod";
import { CiEvidence, type CiProblemCode } from "#ci/contract.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { describeRequestedImage, requestedImage } from "#kernel/image-reference.ts";
import { CiRun } from "#kernel/roles.ts";
import {
  ApproveRequest,
  EmptyRequest,
  HistoryRequest,
  ResumeRequest,
  RollbackRequest,
  RolloutPlan,
  SkipRequest,
} from "./calls-contract.ts";
import type { ChoiceProblemCode } from "./choice/contract.ts";
import {
  CheckGate,
  Gate,
  type GateProblemCode,
  GateStatus,
  Gates,
  mostGates,
} from "./gates/contract.ts";
import { Policy, policyFields, waitReasons } from "./policy-contract.ts";

export { RolloutPlan };

export const rolloutStates = [
  "idle",
  "in_progress",
  "paused",
  "completed",
  "cancelled",
  "rolling_back",
] as const;
export type RolloutStateName = (typeof rolloutStates)[number];

export const operations = [
  "Rollout",
  "Resume",
  "Cancel",
  "RollbackAll",
  "Pause",
  "Skip",
  "Approve",
] as const;
export type Operation = (typeof operations)[number];

/** The key of the default fleet's rollout. Each fleet of the settings has a key of its own: its name. */
export const singletonKey = defaultFleet;

/** The error codes of the rollout handlers, besides the common ones. */
export type RolloutProblemCode =
  | "illegal_operation"
  | "not_an_approver"
  | "not_an_operator"
  | "not_promoted"
  | "too_many_waves"
  | "unknown_key"
  | "image_not_found"
  | "image_not_allowed"
  | "registry_auth"
  | "registry_unavailable"
  | ChoiceProblemCode
  | GateProblemCode
  | CiProblemCode;

/** Cumulative percentages of the fleet after each wave. */
export const defaultWavePercentages = [1, 5, 25, 50, 100];

/** Without the blanks and line breaks that the output of a build step may have around it. */
const ImageReference = z
  .string()
  .trim()
  .max(512)
  .regex(requestedImage, { error: ({ input }) => `must be ${describeRequestedImage(`${input}`)}` })
  .meta({
    title: "Image",
    description:
      "The image for every sentinel: {registry}/{repository}:{tag}, {registry}/{repository}@sha256:{digest}, or both.",
    examples: ["registry.example.com/vedette/sentinel:v2"],
  });

/** Whole percentages from 1 to 100, strictly increasing, the last one 100, 100 at most. */
export const WavePercentages = z
  .array(z.int().min(1).max(100))
  .min(1)
  .max(100)
  .refine((list) => list.every((percent, i) => i === 0 || percent > (list[i - 1] ?? 0)), {
    error: "must be strictly increasing",
  })
  .refine((list) => list.at(-1) === 100, { error: "must end with 100" })
  .meta({
    title: "Wave percentages",
    description: "Cumulative percent of the fleet covered after each wave; the last one is 100.",
    examples: [defaultWavePercentages, [50, 100]],
  });

export const RolloutRequest = z
  .strictObject({
    image: ImageReference,
    wave_percentages: WavePercentages.optional(),
    gate: CheckGate.optional(),
    gates: Gates.optional(),
    ...policyFields,
  })
  .refine(hasSoakPerWave, {
    error: "must be one number, or as many as wave_percentages has",
    path: ["soak_seconds"],
  })
  .refine(({ gate, gates = [] }) => gate === undefined || gates.length < mostGates, {
    error: `expected at most ${mostGates} items together with gate, which is one of them`,
    path: ["gates"],
  })
  .meta({
    title: "RolloutRequest",
    examples: [{ image: "registry.example.com/vedette/sentinel:v2", wave_percentages: [25, 100] }],
  });
export type RolloutRequest = z.infer<typeof RolloutRequest>;

type SoakRequest = {
  wave_percentages?: number[] | undefined;
  soak_seconds?: number | number[] | undefined;
};

function hasSoakPerWave({ wave_percentages, soak_seconds }: SoakRequest): boolean {
  const waves = wave_percentages ?? defaultWavePercentages;
  return !Array.isArray(soak_seconds) || soak_seconds.length === waves.length;
}

const Approval = z.object({
  wave: z.int(),
  by: z.string(),
  at: z.string(),
  reason: z.string().optional(),
});

const SentinelReason = z.object({ id: z.string(), reason: z.string() });
export type SentinelReason = z.infer<typeof SentinelReason>;

const StandingPart = z.object({
  /** A sentence. */
  text: z.string(),
  /** The same without names and full stop. */
  brief: z.string(),
  /** The number of these sentinels that serve nothing. */
  down: z.int(),
  /** The number of these sentinels that serve the new image although their deploys failed. */
  failed_on_image: z.int(),
});
export type StandingPart = z.infer<typeof StandingPart>;

/** True if only a rollback that includes the failed ones gives them back the previous image. */
export function isLeftBehind({ down, failed_on_image: onImage }: StandingPart): boolean {
  return down + onImage > 0;
}

/** Why a rollout is paused, in one word. */
const pauseCauses = [
  "sentinels",
  "fleet",
  "gate",
  "comparison",
  "budget",
  "drift",
  "operator",
  "version",
  "run",
] as const;
export type PauseCause = (typeof pauseCauses)[number];

const Outcome = z.enum(["completed", "cancelled", "rolled_back"]);

/** The answer of Rollout, Resume, Cancel and Status. Counts are of sentinels. */
export const RolloutStatus = z.object({
  /** null when no rollout ever ran. */
  rollout_id: z.string().nullable(),
  fleet: z.string().optional(),
  state: z.enum(rolloutStates),
  image: z.string().nullable(),
  /** From 1; 0 before the first wave. */
  current_wave: z.int(),
  total_waves: z.int(),
  total: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  in_flight: z.int(),
  /** Sentinels that pins and the request leave out. Absent: the fleet is not listed yet. */
  left_out: z.int().optional(),
  /** 100 at most; `failed` has the count. */
  failed_sentinels: z.array(SentinelReason),
  /** The images that its sentinels run, in words. Of a rollout that was rolled back only those that serve nothing, or the new image. Absent: nothing is known. */
  standing: z.array(StandingPart).optional(),
  started_at: z.string().nullable(),
  updated_at: z.string().nullable(),
  /** Why it is paused or ended, when neither an operator nor a failed deploy is the reason; or that nothing was to do. */
  reason: z.string().optional(),
  /** Why it is paused, why its run or rollback ended early, or the fault after its completion. */
  cause: z.enum(pauseCauses).optional(),
  /** The caller who paused it. Absent: it is not paused, or nobody has asked for it. */
  paused: z.object({ by: z.string(), at: z.string() }).optional(),
  gate: GateStatus.optional(),
  /** The reason why a rollout in progress does not start its next step; null: it is not waiting. */
  waiting_for: z.enum(waitReasons).nullish(),
  /** The time at which that wait ends by itself, where it is known. */
  until: z.string().optional(),
  /** The time until which a completed rollout is watched; absent: it is not, or no longer. */
  watch_until: z.string().optional(),
  /** The approvals of waves. Absent: none. */
  approved: z.array(Approval).optional(),
  /** The outcome; null: it has not ended. */
  outcome: Outcome.nullish(),
  /** The rules for failures and soaks, from the request and the settings. */
  policy: Policy.optional(),
  /** The evidence that the image has passed CI. Absent: the settings require none. */
  ci: z.array(CiEvidence).optional(),
  /** After a rollback: failed sentinels, still ordered to run the new image. 100 at most; `still_ordered_count` has all. */
  still_ordered: z.array(SentinelReason).optional(),
  still_ordered_count: z.int().optional(),
});
export type RolloutStatus = z.infer<typeof RolloutStatus>;

export const RollbackResult = RolloutStatus.extend({
  /** Sentinels that run their previous image again because of this call. */
  reverted: z.int(),
  /** Sentinels that still have the new image, or may have it: another RollbackAll deploys only these. */
  not_reverted: z.array(SentinelReason),
});
export type RollbackResult = z.infer<typeof RollbackResult>;

/** The answer of History: rollouts, newest first. Times are ISO 8601 in UTC. */
export const RolloutHistory = z.object({
  rollouts: z.array(
    z.object({
      rollout_id: z.string(),
      image: z.string(),
      state: z.enum(rolloutStates),
      reason: z.string().optional(),
      cause: z.enum(pauseCauses).optional(),
      outcome: Outcome.nullable().default(null),
      waiting_for: z.enum(waitReasons).nullable().default(null),
      until: z.string().optional(),
      policy: Policy.default({}),
      ci: z.array(CiEvidence).optional(),
      gate_checks: z.array(z.string()).optional(),
      /** All its gates, as they were at its start; absent: it has none. */
      gates: z.array(Gate).optional(),
      /** The gates before the newest of its waves that had some, as they were last announced. */
      gate: GateStatus.optional(),
      started_by: z.string().nullable(),
      /** The job of CI that has started it, by its token. */
      ci_run: CiRun.optional(),
      wave_percentages: z.array(z.int()),
      current_wave: z.int(),
      total_waves: z.int(),
      total: z.int(),
      succeeded: z.int(),
      failed: z.int(),
      reverted: z.int(),
      /** The number of sentinels put back that had failed before. */
      failed_before: z.int().default(0),
      left_out: z.int().default(0),
      started_at: z.string(),
      updated_at: z.string(),
      ended_at: z.string().nullable(),
    }),
  ),
});
export type RolloutHistory = z.infer<typeof RolloutHistory>;

/** The public handlers, as `control` and the command line call them. */
export const rolloutHandlers = {
  Rollout: { input: RolloutRequest, output: RolloutStatus },
  Resume: { input: ResumeRequest, output: RolloutStatus },
  Pause: { input: EmptyRequest, output: RolloutStatus },
  Skip: { input: SkipRequest, output: RolloutStatus },
  Approve: { input: ApproveRequest, output: RolloutStatus },
  Cancel: { input: EmptyRequest, output: RolloutStatus },
  RollbackAll: { input: RollbackRequest, output: RollbackResult },
  Status: { input: EmptyRequest, output: RolloutStatus },
  Plan: { input: RolloutRequest, output: RolloutPlan },
  History: { input: HistoryRequest, output: RolloutHistory },
} as const;
export type RolloutHandlerName = keyof typeof rolloutHandlers;

/** The handlers that answer only when the rollout has ended or paused, which may take hours. */
export const blockingHandlers: readonly RolloutHandlerName[] = ["Rollout", "Resume", "RollbackAll"];

export const rolloutServiceName = "vedette.v1.SentinelRolloutService";
