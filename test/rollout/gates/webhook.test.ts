import { describe, expect, it } from "vitest";
import { gradeWebhookAnswer, questionOf, webhookGate } from "#rollout/gates/webhook.ts";

const ok = (body: object | string) => ({
  status: 200,
  body: typeof body === "string" ? body : JSON.stringify(body),
});

describe("the answer of a webhook", () => {
  it.each([
    [ok({ result: "pass" }), { verdict: "pass", value: "pass" }],
    [ok({ result: "fail", reason: "p99" }), { verdict: "fail", value: "fail: p99" }],
    [ok({ result: "pending", reason: 7 }), { verdict: "pending", value: "pending" }],
    [ok({ result: "ok" }), { verdict: "inconclusive" }],
    [ok("<html>"), { verdict: "inconclusive" }],
    [
      { status: 503, body: '{"result":"pass"}' },
      { verdict: "inconclusive", value: "status 503" },
    ],
    [{ error: "not reached: ECONNREFUSED" }, { verdict: "inconclusive" }],
  ])("%j is %j", (answer, expected) => {
    expect(gradeWebhookAnswer(answer)).toMatchObject(expected);
  });

  it("has its reason cut and cleaned", () => {
    const { value } = gradeWebhookAnswer(
      ok({ result: "fail", reason: `\u001b[2J${"x".repeat(900)}` }),
    );

    expect(value).not.toContain("\u001b");
    expect(value.length).toBeLessThanOrEqual(206);
  });
});

const facts = {
  ...{ rolloutId: "r-1", fleet: "singleton", image: "registry.example.com/a:v2", attempt: 3 },
  ...{ wave: 1, waves: 2, total: 4, succeeded: 2, failed: 0, sinceMs: 0 },
};

describe("a question", () => {
  it("has the id of its wave, gate and attempt, whenever it is repeated", () => {
    const [first, again] = [questionOf("ci", facts, 0), questionOf("ci", facts, 5_000)];

    expect(first.id).toBe("r-1_wave-1_ci_3");
    expect(again.id).toBe(first.id);
  });

  it("has the facts of the wave", () => {
    expect(JSON.parse(questionOf("ci", facts, 0).body)).toEqual({
      type: "rollout.gate",
      timestamp: "1970-01-01T00:00:00.000Z",
      data: {
        ...{ rollout_id: "r-1", fleet: "singleton", image: "registry.example.com/a:v2" },
        ...{ gate: "ci", attempt: 3, wave: 1, waves: 2, total: 4, succeeded: 2, failed: 0 },
        since: "1970-01-01T00:00:00.000Z",
      },
    });
  });

  it("is refused for a channel that is no webhook of the definitions", () => {
    const times = { interval_seconds: 30, timeout_seconds: 600 };
    const gate = {
      kind: "webhook",
      name: "ci",
      channel: "https://evil.example",
      ...times,
    } as const;
    const targets = {
      known: [],
      whyOff: () => [],
      webhooks: ["ci"],
      rows: [],
      hasPrometheus: true,
      hasCounters: false,
    };

    expect(webhookGate.refuse(gate, targets)).toMatchObject({ code: "unknown_channel" });
    expect(webhookGate.refuse({ ...gate, channel: "ci" }, targets)).toBeUndefined();
  });
});
