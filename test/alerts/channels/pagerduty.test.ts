import { describe, expect, it } from "vitest";
import { gradePagerDuty, renderPagerDuty } from "#alerts/channels/pagerduty.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";

const judge = (status: number, body = "{}", retryAfter: string | null = null) =>
  gradePagerDuty({ status, body, retryAfter }, 0);

describe("renderPagerDuty", () => {
  it("triggers under the key of the episode, with a link to the check", () => {
    expect(renderPagerDuty(buildMessage(), {})).toMatchObject({
      event_action: "trigger",
      dedup_key: "verify-key:3",
      payload: {
        summary: "Failed: Verify key: status 500",
        source: "verify-key",
        severity: "critical",
        timestamp: "2026-01-01T00:00:00.000Z",
        custom_details: { reason: "status 500", where: "fra, iad" },
      },
      links: [{ href: "https://vedette.example.com/console/checks/verify-key" }],
    });
  });

  it("triggers under the same key when the check has joined the channel again: it opens a new alert there", () => {
    const again = buildMessage({ eventId: "verify-key@pager:3-1:opened", joining: 1 });

    expect(renderPagerDuty(again, {})).toMatchObject({
      event_action: "trigger",
      dedup_key: "verify-key:3",
      payload: { custom_details: { event_id: "verify-key@pager:3-1:opened" } },
    });
  });

  it("resolves under the same key, and sends nothing else", () => {
    expect(renderPagerDuty(buildMessage({ kind: "resolved" }), {})).toEqual({
      event_action: "resolve",
      dedup_key: "verify-key:3",
    });
  });

  it.each([
    { message: buildMessage({ environment: "staging" }), severity: undefined, said: "warning" },
    { message: buildMessage(), severity: "error" as const, said: "error" },
    { message: buildMessage({ isTest: true }), severity: "critical" as const, said: "info" },
  ])("has the severity $said", ({ message, severity, said }) => {
    expect(renderPagerDuty(message, { severity })).toMatchObject({ payload: { severity: said } });
  });

  it("keeps PagerDuty's limits however long the texts are", () => {
    const long = "ü".repeat(600_000);
    const locations = Array.from({ length: 500 }, () => long);
    const message = buildMessage({ name: long, reason: long, locations, dedupKey: long });

    const body = renderPagerDuty(message, {}) as {
      dedup_key: string;
      payload: { summary: string };
    };

    expect(body.dedup_key.length).toBeLessThanOrEqual(255);
    expect(body.payload.summary.length).toBeLessThanOrEqual(1_024);
    expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(512 * 1_024);
  });
});

describe("gradePagerDuty", () => {
  it("takes 202 as accepted", () => {
    expect(judge(202, '{"status":"success"}')).toEqual({ kind: "accepted" });
  });

  it("does not take a page for PagerDuty's answer", () => {
    expect(judge(200, "<!doctype html><p>Sign in")).toMatchObject({ kind: "retry" });
  });

  it("refuses an event that is invalid, without repeating its texts", () => {
    expect(judge(400, '{"errors":["\'payload.source\' is missing"]}')).toEqual({
      kind: "refused",
      cause: "status 400",
    });
  });

  it.each([
    [400, '{"errors":["Length of \'routing_key\' is incorrect"]}'],
    [403, "{}"],
    [404, "{}"],
  ])("takes %i, %s as a fault of the channel", (status, body) => {
    expect(judge(status, body)).toMatchObject({ kind: "retry", isChannelFault: true });
  });

  it("waits half a minute after 429, or as long as it is asked to", () => {
    expect(judge(429)).toMatchObject({ kind: "retry", afterMs: 30_000 });
    expect(judge(429, "{}", "7")).toMatchObject({ kind: "retry", afterMs: 7_000 });
  });

  it.each([302, 500, 503])("tries again after %i", (status) => {
    expect(judge(status)).toEqual({ kind: "retry", cause: `status ${status}` });
  });
});
