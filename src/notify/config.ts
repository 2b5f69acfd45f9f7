import { z } from "zod";
import { optionalUrl, wholeNumber } from "#kernel/setting.ts";

export const notifyConfig = {
  slack: z
    .strictObject({
      /** Where rollout messages go; the URL is a secret. Empty: no messages. */
      sentinel_rollout_webhook_url: optionalUrl(),
      /** Where it is told that a workspace is over its quota; a secret too. Empty: no messages. */
      quota_check_webhook_url: optionalUrl(),
      /** Where it is told that alert routes have drifted from their rows; a secret too. */
      alert_routes_webhook_url: optionalUrl(),
      /** The least time between two messages: Slack takes about one a second and channel. */
      message_spacing_ms: wholeNumber({ min: 0, max: 60_000, default: 1_000 }),
    })
    .prefault({}),
};
