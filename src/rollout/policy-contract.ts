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

/** The longest watch after a completion: a day. */
const maxWatchSeconds = 86_400;

export const WatchFor = z
  .int()
  .min(0)
  .max(maxWatchSeconds)
  .meta({
    title: "Watch",
    description:
      "How long the sentinels and the gates of the kinds checks and prometheus are watched after the rollout has completed: seconds. A fault is announced, with `on_failure` `rollback` the previous images are restored. Another rollout ends it.",
    examples: [3600],
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
  watch_for: WatchFor.optional(),
  not_before: NotBefore.optional(),
  approvals: Approvals.optional(),
  ...choiceFields,
};

export const Policy = z.object(policyFields);
export type Policy = z.infer<typeof Policy>;

/** The reasons for which a rollout in progress may wait before its next step. */
export const waitReasons = ["soak", "gate", "approval", "window"] as const;
export type WaitReason = (typeof waitReasons)[number];
