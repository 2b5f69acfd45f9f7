import { z } from "zod";
import { optionalUrl } from "#kernel/setting.ts";

export const notifyConfig = {
  slack: z
    .strictObject({
      /** Where rollout messages go; the URL is a secret. Empty: no messages. */
      sentinel_rollout_webhook_url: optionalUrl(),
    })
    .prefault({}),
};
