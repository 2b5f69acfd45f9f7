/** `Test` of the alert events: what is sent to a channel, and what the caller is told. */
import { describe, expect, it } from "vitest";
import type { AlertMessage } from "#alerts/channels/message.ts";
import { startAlertBench } from "../../support/alerts/alert-bench.ts";
import { slackChannel } from "../../support/alerts/message-builders.ts";

const path = "vedette.v1.AlertEvents/Test";

describe("a test of a channel", () => {
  it("sends a failure and its recovery once each, as a test, and says what became of them", async () => {
    const sent: AlertMessage[] = [];
    const bench = await startAlertBench({
      channels: [slackChannel],
      send: async (_, message) => {
        sent.push(message as AlertMessage);
        if (message.kind === "resolved") return { kind: "retry", cause: "status 500" };
        return { kind: "accepted", remark: "one recipient refused" };
      },
    });

    const answer = await bench.call(path, { channel: "ops-chat" });

    expect(answer.body["messages"]).toMatchObject([
      { status: "firing", outcome: "accepted", cause: null, remark: "one recipient refused" },
      { status: "resolved", outcome: "failed", cause: "status 500", remark: null },
    ]);
    expect(sent.map(({ kind, isTest }) => [kind, isTest])).toEqual([
      ["firing", true],
      ["resolved", true],
    ]);
    expect(sent[0]?.dedupKey).toBe(sent[1]?.dedupKey);
    expect(await bench.list()).toEqual([]);
  });

  it("names the channels there are when it does not know one", async () => {
    const bench = await startAlertBench({ channels: [slackChannel] });

    const answer = await bench.call(path, { channel: "other" });

    expect(answer.status).toBe(404);
    expect(JSON.stringify(answer.body)).toContain(`the only one is \\"ops-chat\\"`);
  });

  it("of a source resolves what was never open, and notifies nobody", async () => {
    const bench = await startAlertBench({
      channels: [{ id: "production", kind: "incident", environment: "production" }],
    });

    const answer = await bench.call(path, { channel: "production" });

    expect(answer.body["messages"]).toMatchObject([
      { status: "resolved", outcome: "accepted", remark: expect.stringContaining("nobody") },
    ]);
    expect(bench.receiver.events).toMatchObject([
      { deduplicationKey: "test:channel", status: "resolved" },
    ]);
  });
});
