/** A drill through the real delivery, on a real Restate and a real Postgres: the next minute is waited for. */
import { expect, it } from "vitest";
import type { AlertMessage, SendToChannel } from "#alerts/channels/message.ts";
import type { Outcome } from "#alerts/outcome.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const [chat, hook, pager] = ["chat", "hook", "pager"].map((id) =>
  DirectChannel.parse({ id, kind: "slack", url: "{{SLACK_URL}}" }),
) as [DirectChannel, DirectChannel, DirectChannel];

const drill = aHeartbeat({
  id: "weekly",
  name: "Weekly drill",
  periodSeconds: undefined,
  schedule: { cron: "* * * * *", timezone: "UTC" },
  graceSeconds: 70,
  drill: { graceSeconds: 10, channel: null, directChannels: [chat, hook] },
  channel: null,
  directChannels: [pager],
});

/** Notes what each channel is sent, each event once. */
function noteSent(answerOf: (channel: string) => Outcome) {
  const sent: { to: string; message: AlertMessage }[] = [];
  const send: SendToChannel = async ({ id: to }, message) => {
    const outcome = answerOf(to);
    const isKnown = sent.some((one) => one.message.eventId === message.eventId);
    if (outcome.kind === "accepted" && !isKnown)
      sent.push({ to, message: message as AlertMessage });
    return outcome;
  };
  return { send, to: (id: string) => sent.filter(({ to }) => to === id) };
}

it("a test alert that all channels accept keeps the drill well", { timeout: 150_000 }, async () => {
  const notes = noteSent(() => ({ kind: "accepted" }));
  const bench = await startMonitorBench({ heartbeats: [drill], send: notes.send });
  await bench.start();

  await waitFor(async () => (await bench.snapshot("weekly"))?.status === "ok", {
    withinMs: 80_000,
    what: "the drill to be confirmed",
  });

  await waitFor(() => notes.to("hook").length >= 2, { withinMs: 10_000, what: "the recovery" });
  const [opened, resolved] = notes.to("hook").map(({ message }) => message);
  expect(opened).toMatchObject({ kind: "firing", isTest: true, name: "Weekly drill" });
  expect(resolved).toMatchObject({ kind: "resolved", dedupKey: opened?.dedupKey });
  expect(opened?.eventId).toMatch(/^drill:weekly@hook:\d+:opened$/);
  expect(notes.to("pager")).toEqual([]);
  const given = { token_hash: "0".repeat(64) };
  expect((await bench.call("vedette.v1.Heartbeat/weekly/Register", given)).status).toBe(409);
});

it("fails when a channel has not accepted it in time, names it, and recovers once it has", {
  timeout: 150_000,
}, async () => {
  let isDown = true;
  const notes = noteSent((channel) =>
    channel === "chat" && isDown
      ? { kind: "retry", cause: "not reached", afterMs: 200 }
      : { kind: "accepted" },
  );
  const bench = await startMonitorBench({ heartbeats: [drill], send: notes.send });
  await bench.start();

  await waitFor(() => notes.to("pager").length === 1, {
    withinMs: 80_000,
    what: "the alert of the drill",
  });
  isDown = false;
  await waitFor(() => notes.to("pager").length === 2, {
    withinMs: 20_000,
    what: "the recovery of the drill",
  });

  const [failed, recovered] = notes.to("pager").map(({ message }) => message);
  expect(failed).toMatchObject({
    kind: "firing",
    checkId: "weekly",
    reason: "the test alert was not confirmed within 10 s by chat",
  });
  expect(failed).not.toHaveProperty("isTest");
  expect(recovered).toMatchObject({ kind: "resolved", checkId: "weekly" });
});
