/** What an alert event says, as tests need it. */
import type { AlertMessage } from "#alerts/channels/message.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { newYearMs } from "./alert-builders.ts";

export function buildMessage(given: Partial<AlertMessage> = {}): AlertMessage {
  const { kind = "firing", checkId = "verify-key", episode = 3 } = given;
  return {
    kind,
    eventId: `${checkId}:${episode}:${kind === "firing" ? "opened" : "resolved"}`,
    checkId,
    name: "Verify key",
    environment: "production",
    episode,
    joining: 0,
    dedupKey: `${checkId}:${episode}`,
    reason: "status 500",
    openedAtMs: newYearMs,
    atMs: kind === "firing" ? newYearMs : newYearMs + 240_000,
    locations: ["fra", "iad"],
    missedPings: null,
    endedBecause: null,
    rollout: null,
    url: "https://vedette.example.com/console/checks/verify-key",
    ...given,
  };
}

export const slackChannel: ChannelOf<"slack"> = {
  id: "ops-chat",
  kind: "slack",
  url: "{{SLACK_URL}}",
  mention: "<!here>",
};

export const webhookChannel: ChannelOf<"webhook"> = {
  id: "hook",
  kind: "webhook",
  url: "{{HOOK_URL}}",
  secret: "{{HOOK_SECRET}}",
};

export const pagerDutyChannel: ChannelOf<"pagerduty"> = {
  id: "pager",
  kind: "pagerduty",
  url: "{{PAGER_URL}}",
  secret: "{{PAGER_KEY}}",
};

export const syslogChannel: ChannelOf<"syslog"> = {
  id: "logs",
  kind: "syslog",
  url: "{{LOGS_URL}}",
};

export const emailChannel: ChannelOf<"email"> = {
  id: "mail",
  kind: "email",
  url: "{{MAIL_URL}}",
  tls: "required",
  from: "vedette@example.com",
  to: ["ops@example.com"],
};
