import { z } from "zod";
import { optionalText, optionalUrl, secretUrl, wholeNumber } from "#kernel/setting.ts";
import { sourceKinds } from "./source.ts";

const source = () =>
  z
    .strictObject({
      /** The id of the alert source at the incident service; empty: events are recorded, not posted. */
      source_id: optionalText(),
      source_kind: z.enum(sourceKinds).default("checkly"),
      /** The source's `secret_token`. */
      token: optionalText(),
      /** A file with that token, read at every delivery: a new token needs no restart. */
      token_file: optionalText(),
    })
    .prefault({});

export const alertEventsConfig = {
  slack: z
    .strictObject({
      /** Receives rollout messages; the URL is a secret. Empty: no messages. */
      sentinel_rollout_webhook_url: secretUrl(),
      /** Receives notices of workspaces over their quota; a secret too. Empty: no messages. */
      quota_check_webhook_url: secretUrl(),
      /** Receives notices of alert routes that drifted from their rows; a secret too. Empty: no messages. */
      alert_routes_webhook_url: secretUrl(),
      /** The minimum time between two messages to a Slack webhook, which accepts about one per second. */
      message_spacing_ms: wholeNumber({ min: 0, max: 60_000, default: 1_000 }),
    })
    .prefault({}),
  alerts: z
    .strictObject({
      production: source(),
      staging: source(),
      /** The console's public address, for links in events. Empty: `control.public_url`, else where it listens. */
      console_url: optionalUrl(),
      /** An event that the service has not accepted after this time becomes a dead letter. */
      give_up_after_days: wholeNumber({ min: 1, max: 90, default: 7 }),
      attempt_timeout_seconds: wholeNumber({ min: 1, max: 60, default: 10 }),
      /** Events are deleted after so many days, except pending ones and dead letters. */
      keep_days: wholeNumber({ min: 1, max: 4_000, default: 400 }),
    })
    .prefault({}),
};
