/** The fields of a Rollout request that say when it may go on, and when it has to stop. */
import { z } from "zod";
import { choiceFields } from "#rollout/choice/contract.ts";
import { instant, Limit } from "./values-contract.ts";

export const MaxFailed = z
  .strictObject({
    per_wave: Limit.optional().meta({
      description: "Of one wave; a percentage is of the wave, rounded down.",
    }),
    in_all: Limit.optional().meta({
      description: "Of the whole rollout; a percentage is of its sentinels, rounded down.",
    }),
  })
  .refine(({ per_wave, in_all }) => per_wave !== undefined || in_all !== undefined, {
    error: "must have per_wave, in_all or both",
  })
  .meta({
    title: "Failure budget",
    description:
      "How many deploys may fail. At the first one over it nothing new starts. Without it a wave with a failure runs to its end, and the rollout stops there.",
    examples: [{ per_wave: 1, in_all: "2%" }],
  });
export type MaxFailed = z.infer<typeof MaxFailed>;

export const OnFailure = z.enum(["pause", "rollback"]).meta({
  title: "On failure",
  description:
    "What follows when too many deploys or a check of the gate failed: pause (the default), or pause and restore the previous images at once.",
});

export type OnFailure = z.infer<typeof OnFailure>;

/** The longest soak: a week. */
export const maxSoakSeconds = 604_800;
const Seconds = z.int().min(0).max(maxSoakSeconds);

export const SoakSeconds = z.union([Seconds, z.array(Seconds).min(1).max(100)]).meta({
  title: "Soak",
  description:
    "How long each wave is watched before the next one starts or the rollout completes: seconds, one number for all waves, or one for each of wave_percentages.",
  examples: [600, [3600, 600, 0]],
});

export const NotBefore = instant("2026-12-01T22:00:00Z").meta({
  title: "Scheduled start",
  description: "The first wave starts at this time or later. The fleet is frozen then.",
  examples: ["2026-12-01T22:00:00Z"],
});

export const Approvals = z.enum(["last_wave", "after_first", "every_wave"]).meta({
  title: "Approvals",
  description:
    "The waves that start only once an operator other than the starter has approved them: the last one, all after the first, or every one. With one percentage alone the first one does, too. What the settings say is the least.",
});
export type Approvals = z.infer<typeof Approvals>;

export const policyFields = {
  on_failure: OnFailure.optional(),
  max_failed: MaxFailed.optional(),
  soak_seconds: SoakSeconds.optional(),
  not_before: NotBefore.optional(),
  approvals: Approvals.optional(),
  ...choiceFields,
};

export const Policy = z.object(policyFields);
export type Policy = z.infer<typeof Policy>;

/** The reasons for which a rollout in progress may wait before its next step. */
export const waitReasons = ["soak", "gate", "approval", "window"] as const;
export type WaitReason = (typeof waitReasons)[number];

/** The checks that have to be ok after a wave before the next one starts. */
export const Gate = z
  .strictObject({
    checks: z
      .array(z.string())
      .min(1)
      .max(20)
      .refine((ids) => new Set(ids).size === ids.length, { error: "must name each check once" })
      .meta({ description: "API checks, by id; `vedette checks list` has them." }),
    clean_runs: z.int().min(1).max(100).default(1).meta({
      description:
        "Runs of each check that must be ok after the wave. A degraded one does not count.",
    }),
    timeout_seconds: z.int().min(10).max(86_400).default(600).meta({
      description: "The rollout pauses when there are fewer by then.",
    }),
  })
  .meta({
    title: "Gate",
    description: "The next wave waits until each of these checks has had so many clean runs.",
    examples: [{ checks: ["liveness"], clean_runs: 3, timeout_seconds: 600 }],
  });
export type Gate = z.infer<typeof Gate>;

/** The failed run of a check that keeps a gate closed. */
const FailedRun = z.object({
  at: z.string(),
  location: z.string(),
  reason: z.string(),
  /** HTTP status; null when there was no answer. */
  status: z.int().nullable(),
  duration_ms: z.number(),
});

/** The state of a gate, from the end of a wave until the next one starts. */
export const GateStatus = z.object({
  /** The wave that it follows. */
  wave: z.int(),
  since: z.string(),
  /** The rollout pauses when the gate is still closed then. */
  until: z.string(),
  checks: z.array(
    z.object({
      check: z.string(),
      clean_runs: z.int(),
      wanted_runs: z.int(),
      failed_run: FailedRun.nullable(),
    }),
  ),
});
export type GateStatus = z.infer<typeof GateStatus>;
