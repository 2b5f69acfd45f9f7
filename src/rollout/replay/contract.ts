/** The replay of a past rollout against another policy: request and answer. Times are seconds. */
import { z } from "zod";
import { isClean } from "#kernel/text.ts";
import { rolloutStates, WavePercentages } from "#rollout/contract.ts";
import { CheckGate, Gates } from "#rollout/gates/contract.ts";
import { policyFields } from "#rollout/policy-contract.ts";

/** The fields of a Rollout request without its image; what is left out stays as the past rollout had it. */
export const ReplayPolicy = z
  .strictObject({
    wave_percentages: WavePercentages.optional(),
    gate: CheckGate.optional(),
    gates: Gates.optional(),
    ...policyFields,
  })
  .meta({
    title: "ReplayPolicy",
    examples: [{ max_failed: { in_all: 1 }, soak_seconds: 600, wave_percentages: [1, 10, 100] }],
  });
export type ReplayPolicy = z.infer<typeof ReplayPolicy>;

const ReplayRequest = z
  .strictObject({
    rollout_id: z.string().refine((id) => id !== "" && isClean(id, 300), {
      error: "must be a rollout id",
    }),
    policy: ReplayPolicy.default({}),
  })
  .meta({
    title: "ReplayRequest",
    examples: [{ rollout_id: "inv_1", policy: { max_failed: { in_all: 1 } } }],
  });

/** `rolled_back`: paused, and then rolled back by `on_failure`. `unknown`: nothing known would have stopped it. */
const replayEnds = ["paused", "rolled_back", "completed", "unknown"] as const;

const WouldHave = z.object({
  end: z.enum(replayEnds),
  /** The wave in which it ends, from 1, and the number of waves by this policy. */
  wave: z.int(),
  waves: z.int(),
  cause: z.string().optional(),
  reason: z.string().optional(),
  /** Sentinels with a recorded result that would have been ordered to run the image. */
  ordered: z.int(),
  failed: z.int(),
  /** Sentinels that would have been ordered, too, and have no result: they really never were. */
  unknown: z.int(),
  /** From the start to this end; nobody waits for a window or an approval in it. */
  seconds: z.number(),
});
export type WouldHave = z.infer<typeof WouldHave>;

export const ReplayResult = z.object({
  rollout_id: z.string(),
  image: z.string(),
  started_at: z.string(),
  really: z.object({
    state: z.enum(rolloutStates),
    outcome: z.string().nullable(),
    cause: z.string().optional(),
    reason: z.string().optional(),
    wave: z.int(),
    waves: z.int(),
    ordered: z.int(),
    failed: z.int(),
    /** From its start to its end, or to its last change. */
    seconds: z.number(),
  }),
  would: WouldHave,
  /** Fewer sentinels ordered to run the image than really; below 0: more. */
  fewer: z.int(),
  /** Compared with a replay by its own policy, so that people and windows count in neither; below 0: shorter. */
  longer_seconds: z.number(),
  /** Facts that the replay cannot know, in sentences. */
  notes: z.array(z.string()),
});
export type ReplayResult = z.infer<typeof ReplayResult>;

export const replayName = "vedette.v1.RolloutReplay";

export const replayHandlers = {
  Replay: { input: ReplayRequest, output: ReplayResult },
} as const;

export type ReplayProblemCode = "unknown_rollout" | "not_replayable";
