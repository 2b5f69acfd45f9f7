/** Heartbeats that the program's own jobs ping: without a ping URL, and paused while their job is off. */
import { expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { modes } from "../../../support/replay.ts";
import { waitFor } from "../../../support/wait-for.ts";

const hour = 3_600;
const counts = aHeartbeat({
  id: "counts",
  periodSeconds: hour,
  graceSeconds: 60,
  job: "count-keys",
});
const soonDue = { ...counts, periodSeconds: 1, graceSeconds: 1 };
const off = { missingSettings: ["analytics.enabled"] };

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const succeed = (bench: Bench, atMs: number) =>
  bench.call("vedette.v1.JobHeartbeats/succeeded", { job: "count-keys", atMs });

const untilStatus = (bench: Bench, status: string) =>
  waitFor(async () => (await bench.snapshot("counts"))?.status === status, {
    withinMs: 20_000,
    what: status,
  });

it.each(modes)(
  "is expected from the first start on, and ok once its job has run, $mode",
  async ({ alwaysReplay }) => {
    const bench = await startMonitorBench({ heartbeats: [counts], alwaysReplay });
    const startedMs = Date.now();
    await bench.start();
    await untilStatus(bench, "pending");
    const waiting = await bench.snapshot("counts");
    const atMs = Date.now();

    await succeed(bench, atMs);
    await untilStatus(bench, "ok");

    expect(waiting?.dueAtMs).toBeGreaterThanOrEqual(startedMs + (hour + 60) * 1_000);
    expect(await bench.snapshot("counts")).toMatchObject({
      lastAtMs: atMs,
      dueAtMs: atMs + (hour + 60) * 1_000,
    });
    await bench.untilResults(1);
  },
);

it("keeps its deadline over another start", async () => {
  const bench = await startMonitorBench({ heartbeats: [counts] });
  await bench.start();
  await untilStatus(bench, "pending");
  const before = await bench.snapshot("counts");

  await bench.start();
  await bench.follow();

  expect((await bench.snapshot("counts"))?.dueAtMs).toBe(before?.dueAtMs);
});

it("alerts when its job has not run in time, and recovers by the next run", async () => {
  const bench = await startMonitorBench({ heartbeats: [soonDue] });
  await bench.start();
  await bench.untilOrders(1);

  await succeed(bench, Date.now());
  await bench.untilOrders(2);

  expect(bench.orders.map(({ transition }) => transition.kind)).toEqual(["opened", "resolved"]);
});

it("resolves its alert when its job is switched off, and counts anew once it is on", async () => {
  const bench = await startMonitorBench({ heartbeats: [soonDue] });
  await bench.start();
  await bench.untilOrders(1);

  bench.define({ heartbeats: [{ ...soonDue, ...off }] });
  await bench.start();
  await untilStatus(bench, "paused");
  await succeed(bench, Date.now());
  const whileOff = await bench.snapshot("counts");
  bench.define({ heartbeats: [soonDue] });
  await bench.start();
  await bench.untilOrders(3);

  const transitions = bench.orders.map(({ transition }) => transition);
  expect(transitions.map(({ kind, episode }) => [kind, episode])).toEqual([
    ["opened", 1],
    ["resolved", 1],
    ["opened", 2],
  ]);
  expect(transitions[1]).toMatchObject({ endedBecause: "the job that pings it is off" });
  expect(whileOff).toMatchObject({ status: "paused", dueAtMs: null });
});

it("never alerts while its job is off from the beginning", async () => {
  const bench = await startMonitorBench({ heartbeats: [{ ...soonDue, ...off }] });
  await bench.start();
  await untilStatus(bench, "paused");
  const fromMs = Date.now();

  await waitFor(() => Date.now() - fromMs > 3_500, { withinMs: 5_000, what: "its deadline" });

  expect(bench.orders).toEqual([]);
});

it("keeps a ping URL, by which it is watched also while the job is off", async () => {
  const bench = await startMonitorBench({ heartbeats: [{ ...soonDue, ...off }] });
  await bench.start();
  await untilStatus(bench, "paused");

  const { ping, registered } = await registerJob(bench, "counts");
  await bench.start();
  await ping();
  await untilStatus(bench, "ok");
  await bench.untilOrders(1);

  expect(registered).toMatchObject({ replaced: false });
  expect(bench.orders[0]?.transition).toMatchObject({ kind: "opened", episode: 1 });
});

it("takes pings by URL as well, and the first URL replaces none", async () => {
  const bench = await startMonitorBench({ heartbeats: [counts] });
  await bench.start();
  await succeed(bench, Date.now());
  await untilStatus(bench, "ok");

  const { ping, registered } = await registerJob(bench, "counts");
  const answer = await ping();

  expect(registered).toMatchObject({ replaced: false });
  expect(answer?.status).toBe(200);
});

it("is not expected any more when its row names no job", async () => {
  const bench = await startMonitorBench({ heartbeats: [soonDue] });
  await bench.start();
  await succeed(bench, Date.now());
  await untilStatus(bench, "ok");

  const { job: _job, ...others } = soonDue;
  bench.define({ heartbeats: [others] });
  await bench.follow();

  await untilStatus(bench, "paused");
});
