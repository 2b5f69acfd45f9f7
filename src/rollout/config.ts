import { z } from "zod";
import { CiKind } from "#ci/contract.ts";
import {
  flag,
  optionalUrl,
  secretText,
  textList,
  wholeNumber,
  wholeNumberIn,
} from "#kernel/setting.ts";
import { noSuch, readPairs } from "#kernel/text.ts";
import { channelEvents } from "#rollout/rules/messages.ts";
import { type Choice, LabelSelector, RegionOrder } from "./choice/contract.ts";
import { Approvals, maxSoakSeconds, OnFailure } from "./policy-contract.ts";
import type { HeadPolicy } from "./state.ts";
import { Limit } from "./values-contract.ts";

/** A count is text in the environment. */
const limit = () =>
  z.preprocess(
    (value) => (typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value),
    Limit.optional(),
  );

/** Text in the environment: `tier=canary`. */
const labels = () =>
  z.preprocess((value) => (typeof value === "string" ? readPairs(value) : value), LabelSelector);

/** Text in the environment, separated by commas. */
const regions = () => z.preprocess((value) => textList().safeParse(value).data, RegionOrder);

/** Text in the environment, separated by commas. */
const ciKinds = () =>
  z.preprocess(
    (value) => (value === "none" ? [] : (textList().safeParse(value).data ?? value)),
    z.array(CiKind).transform((kinds) => [...new Set(kinds)]),
  );

const Event = z.enum(channelEvents, {
  error: ({ input }) => noSuch("event of a rollout", String(input), channelEvents),
});

/** From the environment: ids of channels, separated by commas, each with all events. */
const channels = () =>
  z.preprocess(
    (value) => (typeof value === "string" ? textList().parse(value) : value),
    z.array(
      z.union([
        z.strictObject({ channel: z.string().min(1), events: z.array(Event).min(1).optional() }),
        z.string().transform((channel) => ({ channel, events: undefined })),
      ]),
    ),
  );

export const rolloutConfig = {
  rollout: z
    .strictObject({
      max_parallel: wholeNumber({ min: 1, max: 500, default: 100 }).describe("Deploys in flight"),
      require_image_in_registry: flag()
        .optional()
        .describe(
          "Refuse an image that its registry lacks; absent: false for `process`, else true",
        ),
      require_ci: ciKinds()
        .default([])
        .describe("Evidence of CI: `commit`, `signature`, `provenance`, `label`; `none`: nothing"),
      on_failure: OnFailure.optional().describe("What follows a failed wave; absent: `pause`"),
      max_failed: z
        .strictObject({
          per_wave: limit().describe("Failed deploys tolerated in a wave: a count, or `2%`"),
          in_all: limit().describe("The same of all sentinels"),
        })
        .prefault({}),
      soak_seconds: wholeNumberIn({ min: 0, max: maxSoakSeconds })
        .optional()
        .describe("How long each wave is watched"),
      include_failed: flag()
        .default(false)
        .describe("An automatic rollback takes failed sentinels, too"),
      approvals: Approvals.optional().describe("The least for each rollout"),
      canary_labels: labels()
        .optional()
        .describe("Labels of sentinels that come first; as text `tier=canary`"),
      regions: regions().optional().describe("Regions that come first, one after the other"),
      max_per_region: limit().describe("Sentinels of a region in a wave: a count, or a percentage"),
      max_unavailable: limit().describe(
        "Sentinels unhealthy, failed or in flight: a count, or a percentage",
      ),
      prometheus_url: optionalUrl().describe("The Prometheus that gates ask"),
      prometheus_token: secretText().describe("Its bearer token"),
      channels: channels()
        .default([])
        .describe("Channels that get messages of rollouts, and which; as text ids"),
    })
    .prefault({}),
};

export type RolloutConfig = z.infer<typeof rolloutConfig.rollout>;

export function defaultPolicy({
  on_failure,
  max_failed: { per_wave, in_all },
  soak_seconds,
  include_failed,
  approvals,
  ...choice
}: RolloutConfig): HeadPolicy {
  const max_failed = {
    ...(per_wave !== undefined && { per_wave }),
    ...(in_all !== undefined && { in_all }),
  };
  return {
    ...(on_failure !== undefined && { on_failure }),
    ...(Object.keys(max_failed).length > 0 && { max_failed }),
    ...(soak_seconds !== undefined && { soak_seconds }),
    ...(include_failed && { include_failed }),
    ...(approvals !== undefined && { approvals }),
    ...choiceOf(choice),
  };
}

function choiceOf({
  canary_labels,
  regions,
  max_per_region,
  max_unavailable,
}: Partial<RolloutConfig>): Pick<HeadPolicy, keyof Choice> {
  return {
    ...(canary_labels !== undefined && { canary_labels }),
    ...(regions !== undefined && { regions }),
    ...(max_per_region !== undefined && { max_per_region }),
    ...(max_unavailable !== undefined && { max_unavailable }),
  };
}
