/** Requests of the rollout's handlers, but for the one that starts it, and the answer of Plan. */
import { z } from "zod";
import { CiEvidence } from "#ci/contract.ts";
import { isClean } from "#kernel/text.ts";
import { Gate } from "./gates/contract.ts";
import { OnFailure, Policy, waitReasons } from "./policy-contract.ts";
import { Reason } from "./values-contract.ts";

export const EmptyRequest = z.strictObject({}).meta({ title: "EmptyRequest", examples: [{}] });

export const ResumeRequest = z
  .strictObject({
    retry_failed: z.boolean().optional().meta({
      description: "Deploys the failed sentinels of the wave again before the rollout goes on.",
    }),
  })
  .meta({ title: "ResumeRequest", examples: [{}, { retry_failed: true }] });
export type ResumeRequest = z.infer<typeof ResumeRequest>;

export const RollbackRequest = z
  .strictObject({
    include_failed: z.boolean().optional().meta({
      description:
        "Orders the previous image to sentinels that failed, too, which may still be brought to the new one.",
    }),
  })
  .meta({ title: "RollbackRequest", examples: [{}, { include_failed: true }] });
export type RollbackRequest = z.infer<typeof RollbackRequest>;

export const SkipRequest = z
  .strictObject({
    reason: Reason,
    waiting_for: z.enum(waitReasons).optional().meta({
      description: "The wait that was seen: another one is not ended, and the call refused.",
    }),
    wave: z.int().min(0).optional().meta({
      description: "The wave after which it was seen to wait, 0 before the first: as above.",
    }),
  })
  .meta({ title: "SkipRequest", examples: [{ reason: "incident 4711" }] });
export type SkipRequest = z.infer<typeof SkipRequest>;

export const ApproveRequest = z
  .strictObject({
    reason: Reason.optional(),
    gate: z.string().max(63).optional().meta({
      description: "A gate of the kind pause, by its name: confirms it, and approves no wave.",
    }),
    rollout_id: z.string().max(300).optional().meta({
      description: "The rollout that was seen: another one is not approved, and the call refused.",
    }),
    wave: z.int().min(1).optional().meta({
      description: "The wave that was seen to wait, from 1: as above.",
    }),
  })
  .meta({ title: "ApproveRequest", examples: [{}, { reason: "the canaries are fine", wave: 2 }] });
export type ApproveRequest = z.infer<typeof ApproveRequest>;

export const HistoryRequest = z
  .strictObject({
    limit: z.int().min(1).max(100).default(20),
    /** A rollout id: only rollouts that started before it. */
    before: z
      .string()
      .refine((id) => isClean(id, 300), { error: "must be a rollout id" })
      .optional(),
  })
  .meta({ title: "HistoryRequest", examples: [{ limit: 20 }] });
export type HistoryRequest = z.infer<typeof HistoryRequest>;

/** The waves that a Rollout with the same request would run now. */
export const RolloutPlan = z.object({
  image: z.string(),
  total: z.int(),
  /** Sentinels left out because they already run the image. */
  already_running: z.int(),
  /** Sentinels left out by pins and by the request, which would have got the image. 100 at most. */
  left_out: z
    .array(z.object({ id: z.string(), pin: z.string().nullable(), reason: z.string() }))
    .default([]),
  left_out_count: z.int().default(0),
  /** Sentinels with `canary_labels` that get the image. 100 at most. */
  canaries: z.array(z.string()).default([]),
  canary_count: z.int().default(0),
  /** Sentences about all that the plan has besides its waves. */
  notes: z.array(z.string()).default([]),
  /** Names in pins and settings that no sentinel has. Rollout starts all the same. */
  warnings: z.array(z.string()).default([]),
  /** Percentages whose wave would add no sentinel to the wave that is named. */
  merged: z.array(z.object({ percentage: z.int(), wave: z.int() })).default([]),
  /** The gates before each next wave, `gate` among them. */
  gates: z.array(Gate).default([]),
  /** The policy of the request, completed from the settings. */
  policy: Policy.default({}),
  /** The limit of unhealthy, failed and in-flight sentinels at one time; null: there is none. */
  max_unavailable: z.int().nullable().default(null),
  on_failure: OnFailure.default("pause"),
  /** The limit of failed deploys in all; null: there is none. */
  max_failed: z.int().nullable().default(null),
  /** The evidence that the image has passed CI. Rollout refuses an image of which one does not pass. */
  ci: z.array(CiEvidence).default([]),
  /** Why other fleets keep the image from this one: Rollout refuses it until there is nothing. */
  hindrances: z.array(z.string()).default([]),
  waves: z.array(
    z.object({
      wave: z.int(),
      /** The cumulative percentage that defines this wave. */
      percentage: z.int(),
      size: z.int(),
      /** Sentinels covered after this wave. */
      covered: z.int(),
      regions: z.record(z.string(), z.int()),
      /** The limit of failed deploys in this wave; null: there is none. */
      max_failed: z.int().nullable().default(null),
      /** The time for which the wave is watched before the next one starts. */
      soak_seconds: z.int().default(0),
      /** True if an operator other than the starter has to approve it. */
      needs_approval: z.boolean().default(false),
      /** If deploys took no time, by the windows as they are; null: not within a year. */
      earliest_start: z.string().nullable(),
      /** The first 100 of the wave, in the order in which they are deployed. */
      sentinels: z.array(z.string()),
    }),
  ),
});
export type RolloutPlan = z.infer<typeof RolloutPlan>;
