/** The rows of drills among the heartbeats in Postgres: nobody has a ping URL of a drill. */
import { expect, it } from "vitest";
import { DirectChannel } from "#alerts/rows/contract.ts";
import type { Heartbeat } from "#monitor/contract.ts";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const { drill: _none, ...plain }: Heartbeat = aHeartbeat({
  id: "weekly",
  periodSeconds: undefined,
  schedule: { cron: "0 9 29 2 *", timezone: "UTC" },
});
const drill: Heartbeat = {
  ...plain,
  drill: { graceSeconds: 30, channel: null, directChannels: [chat] },
};

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const startBench = (heartbeats: Heartbeat[]) =>
  startMonitorBench({ heartbeats, send: async () => ({ kind: "accepted" }) });

const hasUrl = async ({ database }: Bench) =>
  (await database.query("SELECT FROM heartbeats WHERE id = 'weekly'")).rows.length > 0;

const untilStatus = (bench: Bench, status: string) =>
  waitFor(async () => (await bench.snapshot("weekly"))?.status === status, {
    withinMs: 20_000,
    what: `the drill to be ${status}`,
  });

const run = (bench: Bench) => bench.call("vedette.v1.Drill/weekly/Run", {}, "ada");

it("is expected without a token from the first start on", async () => {
  const bench = await startBench([drill]);

  await bench.start();
  await untilStatus(bench, "pending");

  expect(await hasUrl(bench)).toBe(false);
});

it("a ping URL of a heartbeat that becomes a drill is void", async () => {
  const bench = await startBench([plain]);
  const { ping } = await registerJob(bench, "weekly");

  bench.define({ heartbeats: [drill] });
  await bench.start();

  expect(await hasUrl(bench)).toBe(false);
  expect((await ping())?.status).toBe(404);
});

it("a plain heartbeat with the id of a drill that was removed waits for a ping URL", async () => {
  const bench = await startBench([drill]);
  await bench.start();
  await run(bench);
  await untilStatus(bench, "ok");

  bench.define({ heartbeats: [] });
  await bench.follow();
  bench.define({ heartbeats: [plain] });
  await bench.follow();

  await untilStatus(bench, "paused");
});

it("a drill that becomes a plain heartbeat waits for a ping URL", async () => {
  const bench = await startBench([drill]);
  await bench.start();
  await run(bench);
  await untilStatus(bench, "ok");

  bench.define({ heartbeats: [plain] });
  await bench.follow();
  await untilStatus(bench, "paused");
  const { ping } = await registerJob(bench, "weekly");
  await ping();

  await untilStatus(bench, "ok");
});
