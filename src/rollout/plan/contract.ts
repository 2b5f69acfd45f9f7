import { z } from "zod";
import { CiEvidence } from "#ci/contract.ts";
import { Gate, OnFailure, Policy } from "#rollout/policy/contract.ts";

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
  gate: Gate.nullable().default(null),
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
