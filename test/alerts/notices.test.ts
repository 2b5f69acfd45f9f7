import { describe, expect, it } from "vitest";
import { createAttempt } from "#alerts/attempt.ts";
import { renderMail } from "#alerts/channels/email/mail.ts";
import type { AnyChannel, ChannelMessage } from "#alerts/channels/message.ts";
import { renderPagerDuty } from "#alerts/channels/pagerduty.ts";
import { renderSlack } from "#alerts/channels/slack.ts";
import { toMessage } from "#alerts/channels/to-message.ts";
import { renderWebhook } from "#alerts/channels/webhook.ts";
import { queueOf } from "#alerts/contract.ts";
import type { NoticeOrder } from "#alerts/order.ts";
import { renderEvent } from "#alerts/payload.ts";
import { exampleLinks, newYearMs } from "../support/alerts/alert-builders.ts";
import { buildNotice } from "../support/alerts/chat-builders.ts";
import { emailChannel, pagerDutyChannel } from "../support/alerts/message-builders.ts";

const pauses = { title: "Rollout paused", tone: "danger" } as const;
const url = "https://vedette.example.com/console/history/r-1";

function orderOf(event: string, changes: Parameters<typeof buildNotice>[0] = {}): NoticeOrder {
  const rollout = { id: "r-1", fleet: "staging", event };
  const notice = { ...buildNotice(changes), rollout };
  const topic = "sentinel_rollout/staging";
  const eventId = `${topic}@hook:${notice.id}`;
  return { eventId, notice, atMs: newYearMs, channel: "hook", topic };
}

const messageOf = (...given: Parameters<typeof orderOf>) =>
  toMessage(orderOf(...given), exampleLinks);

describe("a message of a rollout", () => {
  it("is an event of the rollout for a webhook", () => {
    expect(renderWebhook(messageOf("rollout started"))).toEqual({
      id: "sentinel_rollout/staging@hook:r-1#1",
      type: "rollout.started",
      timestamp: "2026-01-01T00:00:00.000Z",
      data: {
        rollout: "r-1",
        fleet: "staging",
        event: "rollout started",
        image: "registry.example.com/vedette/sentinel:v2",
        tone: "info",
        title: "Wave started",
        lines: ["Wave 1 of 5: 3 sentinels."],
        dedup_key: "rollout:r-1",
        event_id: "sentinel_rollout/staging@hook:r-1#1",
        summary: "Wave started: Wave 1 of 5: 3 sentinels.",
        url,
      },
    });
  });

  it.each([
    ["wave completed", "rollout.wave_completed"],
    ["paused", "rollout.paused"],
  ])("%s has the type %s for a webhook", (event, type) => {
    expect(renderWebhook(messageOf(event))).toMatchObject({ type });
  });

  it("that pauses triggers an alert at PagerDuty", () => {
    expect(renderPagerDuty(messageOf("paused", pauses), pagerDutyChannel)).toMatchObject({
      event_action: "trigger",
      dedup_key: "rollout:r-1",
      payload: {
        summary: "Rollout paused: Wave 1 of 5: 3 sentinels.",
        source: "staging",
        severity: "error",
        class: "rollout",
      },
      client_url: url,
    });
  });

  it("that follows a pause resolves the alert at PagerDuty", () => {
    expect(renderPagerDuty(messageOf("resumed"), pagerDutyChannel)).toEqual({
      event_action: "resolve",
      dedup_key: "rollout:r-1",
    });
  });

  it("starts a thread of mails, which later ones continue under one subject", () => {
    const mails = ["rollout started", "wave started"].map((event, i) =>
      renderMail(messageOf(event, { id: `r-1#${i}` }), emailChannel, "ops@example.com"),
    );

    const subject = "[rollout, staging] registry.example.com/vedette/sentinel:v2";
    expect(mails.map((mail) => mail.subject)).toEqual([subject, `Re: ${subject}`]);
    expect(mails[1]).toMatchObject({ inReplyTo: mails[0]?.messageId });
    expect(mails[1]?.text).toMatch(/^🔵 Wave started: Wave 1 of 5: 3 sentinels\.\n/u);
  });

  it.each([
    ["paused", pauses, "firing"],
    ["resumed", {}, "resolved"],
  ] as const)("%s is an event of the incident service", (event, changes, status) => {
    const terms = { kind: "http", environment: "staging", linkTo: exampleLinks } as const;

    expect(renderEvent(orderOf(event, changes), terms)).toMatchObject({
      deduplication_key: "rollout:r-1",
      status,
      source_url: url,
      metadata: { rollout_id: "r-1", fleet: "staging", event },
    });
  });

  it("mentions people at Slack only when it pauses", () => {
    const texts = (["paused", "resumed"] as const).map((event) =>
      JSON.stringify(
        renderSlack(messageOf(event, event === "paused" ? pauses : {}), { mention: "<!here>" }),
      ).includes("<!here>"),
    );

    expect(texts).toEqual([true, false]);
  });

  it("has an id that names its queue", () => {
    expect(queueOf("sentinel_rollout/staging@hook:r-1#1")).toBe("sentinel_rollout/staging@hook");
  });
});

describe("an attempt at a message of a rollout", () => {
  const attempt = (found: AnyChannel | "removed" | undefined) => {
    const sent: ChannelMessage[] = [];
    const deliver = createAttempt({
      sourceOf: () => undefined,
      linkTo: exampleLinks,
      timeoutMs: 1_000,
      webhookUrlOf: () => "",
      findChannel: async () => found,
      send: async (_, message) => {
        sent.push(message);
        return { kind: "accepted" };
      },
    });
    return deliver(orderOf("paused")).then((outcome) => ({ outcome, sent: sent.length }));
  };

  it("is sent to the channel's row", async () => {
    expect(await attempt(emailChannel)).toEqual({ outcome: { kind: "accepted" }, sent: 1 });
  });

  it("is not posted when the channel was removed", async () => {
    expect(await attempt("removed")).toEqual({
      outcome: { kind: "unconfigured", cause: "there is no channel hook" },
      sent: 0,
    });
  });

  it("is tried again while the channels cannot be read", async () => {
    expect((await attempt(undefined)).outcome).toMatchObject({ kind: "retry" });
  });

  it("goes to the source of an incident channel's environment", async () => {
    const row = { id: "hook", kind: "incident", environment: "staging" } as const;

    expect(await attempt(row)).toEqual({ outcome: { kind: "unconfigured" }, sent: 0 });
  });
});
