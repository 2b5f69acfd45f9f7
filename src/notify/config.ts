import { z } from "zod";
import { secretUrl, wholeNumber } from "#kernel/setting.ts";

export const notifyConfig = {
  slack: z
    .strictObject({
      /** Receives rollout messages; the URL is a secret. Empty: no messages. */
      sentinel_rollout_webhook_url: secretUrl(),
      /** Receives notices of workspaces over their quota; a secret too. Empty: no messages. */
      quota_check_webhook_url: secretUrl(),
      /** Receives notices of alert routes that drifted from their rows; a secret too. Empty: no messages. */
      alert_routes_webhook_url: secretUrl(),
      /** The minimum time between two messages: Slack accepts about one per second and channel. */
      message_spacing_ms: wholeNumber({ min: 0, max: 60_000, default: 1_000 }),
    })
    .prefault({}),
};
