import { z } from "zod";
import { optionalText, optionalUrl, secretUrl, wholeNumber } from "#kernel/setting.ts";
import { sourceKinds } from "./source.ts";

const source = () =>
  z
    .strictObject({
      source_id: optionalText().describe(
        "The alert source; empty: events are recorded, not posted",
      ),
      source_kind: z.enum(sourceKinds).default("checkly").describe("The kind of the source"),
      token: optionalText().describe("A secret: the source's token"),
      token_file: optionalText().describe("A file with it, read at each use"),
    })
    .prefault({});

export const alertEventsConfig = {
  slack: z
    .strictObject({
      sentinel_rollout_webhook_url: secretUrl().describe("Receives messages of rollouts"),
      quota_check_webhook_url: secretUrl().describe(
        "Receives notices of workspaces over their quota",
      ),
      alert_routes_webhook_url: secretUrl().describe("Receives drift of routes and alert managers"),
      message_spacing_ms: wholeNumber({ min: 0, max: 60_000, default: 1_000 }).describe(
        "The time between two messages to a webhook",
      ),
    })
    .prefault({}),
  audit: z
    .strictObject({
      keep_days: wholeNumber({ min: 0, max: 4_000, default: 0 }).describe(
        "How long the audit log is kept; 0: for ever",
      ),
      channel: optionalText().describe(
        "The webhook or syslog channel that gets each row of the audit log",
      ),
    })
    .prefault({}),
  alerts: z
    .strictObject({
      production: source(),
      staging: source(),
      console_url: optionalUrl().describe("Where messages link to; empty: `control`"),
      give_up_after_days: wholeNumber({ min: 1, max: 90, default: 7 }).describe(
        "When an event that is not accepted is given up",
      ),
      attempt_timeout_seconds: wholeNumber({ min: 1, max: 60, default: 10 }).describe(
        "The limit of an attempt",
      ),
      keep_days: wholeNumber({ min: 1, max: 4_000, default: 400 }).describe(
        "How long events are kept",
      ),
    })
    .prefault({}),
};
