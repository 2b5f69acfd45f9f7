import { IncomingWebhookRequestError } from "@slack/webhook";
import { describe, expect, it } from "vitest";
import { judgeNetworkError, judgeRefusal } from "#alerts/channels/slack.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");

const judge = (status: number, more: { body?: string; retryAfter?: string } = {}) =>
  judgeRefusal({ status, body: more.body ?? "", retryAfter: more.retryAfter ?? null }, nowMs);

describe("judgeRefusal", () => {
  it.each([400, 403, 404, 410])("drops the message after status %i", (status) => {
    expect(judge(status).outcome).toBe("refused");
  });

  it.each([408, 429, 500, 502, 503, 504])("tries again after status %i", (status) => {
    expect(judge(status).outcome).toBe("retry");
  });

  it.each([
    { name: "seconds", retryAfter: "7", afterMs: 7_000 },
    { name: "a date", retryAfter: "Thu, 01 Jan 2026 00:00:30 GMT", afterMs: 30_000 },
    { name: "a date that has passed", retryAfter: "Wed, 31 Dec 2025 00:00:00 GMT", afterMs: 0 },
  ])("reads Retry-After as $name", ({ retryAfter, afterMs }) => {
    expect(judge(429, { retryAfter })).toMatchObject({ outcome: "retry", afterMs });
  });

  it.each(["", "soon", "-5x"])("ignores the Retry-After %j", (retryAfter) => {
    expect(judge(429, { retryAfter })).not.toHaveProperty("afterMs");
  });

  it("names Slack's reason", () => {
    expect(judge(404, { body: "no_service" })).toEqual({
      outcome: "refused",
      cause: "status 404 no_service",
      status: 404,
    });
  });

  it("keeps a body that may quote the request to itself", () => {
    const delivery = judge(404, { body: "<p>/services/T000/B000/secret not found</p>" });

    expect(delivery).toEqual({ outcome: "refused", cause: "status 404", status: 404 });
  });
});

describe("gradeNetworkError", () => {
  it("names the network error without its message", () => {
    const cause = Object.assign(new Error("connect to secret.example"), { code: "ECONNREFUSED" });
    const error = new IncomingWebhookRequestError(new TypeError("fetch failed", { cause }));

    expect(judgeNetworkError(error)).toEqual({
      outcome: "retry",
      cause: "not reached: ECONNREFUSED",
    });
  });

  it("names a time-out", () => {
    const error = new IncomingWebhookRequestError(new DOMException("too late", "TimeoutError"));

    expect(judgeNetworkError(error)).toEqual({
      outcome: "retry",
      cause: "not reached: TimeoutError",
    });
  });
});
