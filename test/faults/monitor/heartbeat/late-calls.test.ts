/** Starts and failures that reach the object late or never: each ping counts, in its turn. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { eventIdsOf } from "../../../support/alerts/alert-builders.ts";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";

const daily = aHeartbeat({ id: "nightly", periodSeconds: 600, graceSeconds: 1 });
const frequent = aHeartbeat({ ...daily, periodSeconds: 1 });

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

async function startWell() {
  const bench = await startMonitorBench({ heartbeats: [daily] });
  const { ping, tokenHash } = await registerJob(bench, "nightly");
  await ping();
  await bench.untilWell("nightly");
  return { bench, ping, tokenHash };
}

/** As a gateway that is killed before it calls the object with the failure, or cannot reach Restate. */
const announceFailure = ({ inbox }: Bench, token: string, atMs: number) =>
  inbox.announce({ token, atMs });

const eventIds = (bench: Bench) => bench.orders.map(({ transition }) => transition.eventId);

it("each failure is an episode although the worker was away for all of them", async () => {
  const { bench, ping } = await startWell();
  await bench.stopWorker();

  for (let round = 0; round < 4; round += 1) {
    await ping("/fail");
    await ping();
  }
  await bench.restartWorker();
  await bench.untilOrders(8);

  expect(eventIds(bench)).toEqual(eventIdsOf(4, "nightly"));
});

it("a failure that never reached the object does not keep a deadline from being checked", async () => {
  const bench = await startMonitorBench({ heartbeats: [frequent] });
  const { ping, tokenHash } = await registerJob(bench, "nightly");
  // The alarm of its first deadline rings before the deadline after this ping.
  await delay(1_000);
  await ping();
  const pingedMs = Date.now();
  await bench.untilWell("nightly");
  await announceFailure(bench, tokenHash, Date.now());

  await bench.untilOrders(1);

  const { atMs = 0, reason } = bench.orders[0]?.transition ?? {};
  expect(reason).toContain("no ping since");
  expect(atMs - pingedMs).toBeLessThan(30_000);
});

it("a failure that never reached the object does not keep the watch for ever", async () => {
  const { bench, ping, tokenHash } = await startWell();
  await announceFailure(bench, tokenHash, Date.now() - 60_000);

  await ping();

  await bench.untilWell("nightly");
  expect(bench.orders).toEqual([]);
});
