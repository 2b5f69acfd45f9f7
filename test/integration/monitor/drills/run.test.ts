/** A drill that an operator begins, on a real Restate and a real Postgres; its schedule is a year away. */
import { expect, it } from "vitest";
import type { AlertMessage, SendToChannel } from "#alerts/channels/message.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { modes } from "../../../support/replay.ts";
import { waitFor } from "../../../support/wait-for.ts";

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const pager = DirectChannel.parse({ id: "pager", kind: "slack", url: "{{SLACK_URL}}" });

const drill = aHeartbeat({
  id: "weekly",
  name: "Weekly drill",
  periodSeconds: undefined,
  schedule: { cron: "0 9 29 2 *", timezone: "UTC" },
  graceSeconds: 63,
  drill: { graceSeconds: 3, channel: null, directChannels: [chat] },
  channel: null,
  directChannels: [pager],
});

/** Counts what each channel has accepted, each event once. */
function channels({ isDown = false } = {}) {
  const state = { isDown };
  const sent = new Set<string>();
  const send: SendToChannel = async ({ id }, message) => {
    const { checkId, kind } = message as AlertMessage;
    if (id === "chat" && state.isDown) return { kind: "retry", cause: "not reached", afterMs: 200 };
    sent.add(`${id} ${kind} ${checkId}`);
    return { kind: "accepted" };
  };
  return { state, send, sent };
}

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const run = (bench: Bench, id = "weekly") => bench.call(`vedette.v1.Drill/${id}/Run`, {}, "ada");

const untilStatus = (bench: Bench, status: string) =>
  waitFor(async () => (await bench.snapshot("weekly"))?.status === status, {
    withinMs: 30_000,
    what: `the drill to be ${status}`,
  });

it.each(modes)(
  "counts as done when its channels have accepted the alert, $mode",
  async ({ alwaysReplay }) => {
    const { send, sent } = channels();
    const bench = await startMonitorBench({ heartbeats: [drill], send, alwaysReplay });
    await bench.start();
    const fromMs = Date.now();

    const { status, body } = await run(bench);
    await untilStatus(bench, "ok");

    expect(status).toBe(200);
    expect(body).toMatchObject({ drill: "weekly", by: "ada", channels: ["chat"] });
    const begunMs = Date.parse(body.begun_at);
    expect(begunMs).toBeGreaterThanOrEqual(fromMs);
    expect(Date.parse(body.due_at) - begunMs).toBe(3_000);
    expect((await bench.snapshot("weekly"))?.lastAtMs).toBeGreaterThanOrEqual(begunMs);
    await waitFor(() => sent.size === 2, { withinMs: 10_000, what: "the recovery" });
    expect([...sent]).toEqual(["chat firing drill:weekly", "chat resolved drill:weekly"]);
    const begun = bench.logLines.find((line) => line.includes("drill begun"));
    expect(begun).toContain('"by":"ada"');
  },
);

it("is refused while a run waits, fails by it, and by the next one recovers", async () => {
  const { send, sent, state } = channels({ isDown: true });
  const bench = await startMonitorBench({ heartbeats: [drill], send });
  await bench.start();

  const [first, second] = [await run(bench), await run(bench)];
  await waitFor(() => sent.has("pager firing weekly"), { withinMs: 30_000, what: "the alert" });
  state.isDown = false;
  const third = await run(bench);
  await waitFor(() => sent.has("pager resolved weekly"), { withinMs: 30_000, what: "recovery" });

  expect([first.status, second.status, third.status]).toEqual([200, 409, 200]);
  expect(second.body).toMatchObject({ metadata: { code: "drill_running" } });
  expect(second.body.message).toContain("a run that ada began at");
  expect(second.body.message).toContain("still waits for chat");
  await untilStatus(bench, "ok");
});

it("there is none to run of a heartbeat, or of a name that nothing has", async () => {
  const bench = await startMonitorBench({ heartbeats: [aHeartbeat({ id: "nightly" })] });

  const answers = [await run(bench, "nightly"), await run(bench, "weekly")];

  expect(answers.map(({ status, body }) => [status, body.metadata?.code, body.message])).toEqual([
    [404, "unknown_check", "there is no drill nightly"],
    [404, "unknown_check", "there is no drill weekly"],
  ]);
});

it("one whose row is removed while it waits can be run once it is defined again", async () => {
  const { send } = channels({ isDown: true });
  const bench = await startMonitorBench({ heartbeats: [drill], send });
  await bench.start();
  await run(bench);
  const isBegun = () => bench.logLines.some((line) => line.includes("drill begun"));
  await waitFor(isBegun, { withinMs: 10_000, what: "the test alert" });

  bench.define({ heartbeats: [] });
  await waitFor(async () => !(await hasCalls(bench)), { withinMs: 10_000, what: "its end" });
  bench.define({ heartbeats: [drill] });

  expect((await run(bench)).status).toBe(200);
});

/** Whether a call of a drill is made, or will be before the times of its schedule. */
async function hasCalls({ restate }: Bench): Promise<boolean> {
  const query = `SELECT id FROM sys_invocation WHERE target_service_name = 'vedette.v1.Drill'
    AND target_handler_name <> 'tick' AND status <> 'completed'`;
  const answer = await fetch(`${restate.adminUrl}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const { rows } = (await answer.json()) as { rows: unknown[] };
  return rows.length > 0;
}
