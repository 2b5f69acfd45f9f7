/** A heartbeat by cron, on a real Restate and a real Postgres: the next minute is waited for. */
import { expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const minute = 60_000;
const everyMinute = aHeartbeat({
  id: "backup",
  periodSeconds: undefined,
  schedule: { cron: "* * * * *", timezone: "Europe/Berlin" },
  graceSeconds: 2,
});

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const dueOf = async (bench: Bench) => (await bench.snapshot("backup")).dueAtMs;

it("alerts the grace after its time, though the watch was started anew, and recovers", {
  timeout: 200_000,
}, async () => {
  const bench = await startMonitorBench({ heartbeats: [everyMinute] });
  const { ping } = await registerJob(bench, "backup");
  const first = Math.ceil(Date.now() / minute) * minute;
  await bench.stopWatch();
  await bench.start();

  await waitFor(() => bench.orders.length === 1, { withinMs: 70_000, what: "the alert" });
  await ping();
  await waitFor(() => bench.orders.length === 2, { withinMs: 10_000, what: "the recovery" });
  await bench.untilWell("backup");
  const pingedFor = Math.floor(Date.now() / minute) * minute;

  expect(bench.orders[0]?.transition.atMs).toBeGreaterThanOrEqual(first + 2_000);
  expect(bench.orders[0]?.transition.atMs).toBeLessThan(first + 8_000);
  expect(await dueOf(bench)).toBe(pingedFor + minute + 2_000);

  // In the minute that follows the ping is only written, and found at the end of the window.
  await waitFor(() => Date.now() >= pingedFor + minute, {
    withinMs: 70_000,
    what: "the next minute",
  });
  await ping();
  await waitFor(async () => (await dueOf(bench)) === pingedFor + 2 * minute + 2_000, {
    withinMs: 10_000,
    what: "the deadline to move",
  });
  expect(bench.orders.length).toBe(2);
  expect((await bench.snapshot("backup")).expectedAtMs).toBe(pingedFor + 2 * minute);
});

it("a changed cron moves the deadline of one that is well, and alerts for nothing of before", async () => {
  const yearly = { cron: "0 0 1 1 *", timezone: "UTC" };
  const bench = await startMonitorBench({ heartbeats: [{ ...everyMinute, schedule: yearly }] });
  const { ping } = await registerJob(bench, "backup");
  await ping();
  await bench.untilWell("backup");
  const before = await dueOf(bench);
  const atMidnight = { ...everyMinute, schedule: { cron: "@daily", timezone: "UTC" } };

  bench.define({ heartbeats: [atMidnight] });
  await bench.follow();

  const year = new Date().getUTCFullYear() + 1;
  expect(before).toBe(Date.UTC(year, 0, 1) + 2_000);
  expect(await dueOf(bench)).toBe(Math.ceil(Date.now() / 86_400_000) * 86_400_000 + 2_000);
  expect(bench.orders).toEqual([]);
});
