/** Pings that are stored and not decided, since their process was killed in between: each counts, in its turn. */
import { expect, it } from "vitest";
import { createLog } from "#kernel/log.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createTakePing } from "#monitor/heartbeat/pings.ts";
import { savePings } from "#monitor/results/record.ts";
import { eventIdsOf } from "../../../support/alerts/alert-builders.ts";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";

const daily = aHeartbeat({ id: "nightly", periodSeconds: 600, graceSeconds: 1 });
const log = createLog({ level: "silent", format: "json" });

/** `dyingPing`: to a process that is killed once the ping is committed. */
async function startWell(heartbeat = daily) {
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const { ping, token } = await registerJob(bench, "nightly");
  await ping();
  await bench.untilWell("nightly");
  const { database } = bench;
  const inbox = createInbox({
    database,
    recordPings: (pings) => savePings(database, pings),
    decide: async () => {},
  });
  const takeDying = createTakePing({ inbox, log, nowMs: Date.now });
  const dyingPing = (suffix = "") => takeDying(`/${token}${suffix}`);
  return { bench, ping, dyingPing };
}

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const eventIds = (bench: Bench) => bench.orders.map(({ transition }) => transition.eventId);

it("each failure is an episode although all of them came before a process decided", async () => {
  const { bench, dyingPing } = await startWell();
  await bench.stopWatch();

  for (let round = 0; round < 4; round += 1) {
    await dyingPing("/fail");
    await dyingPing();
  }
  await bench.start();
  await bench.untilOrders(8);

  expect(eventIds(bench)).toEqual(eventIdsOf(4, "nightly"));
});

it("a failure alerts within seconds by another process", async () => {
  const { bench, dyingPing } = await startWell();
  const failedMs = Date.now();

  await dyingPing("/fail");
  await bench.untilOrders(1);

  expect(Date.now() - failedMs).toBeLessThan(5_000);
});

it("a later ping is decided after them", async () => {
  const { bench, ping, dyingPing } = await startWell();
  await bench.stopWatch();
  await dyingPing("/fail");
  await dyingPing("/start");

  await ping();
  await bench.untilOrders(2);

  expect(eventIds(bench)).toEqual(eventIdsOf(1, "nightly"));
  expect((await bench.snapshot("nightly")).status).toBe("ok");
});

it("a success in time keeps the deadline from passing", async () => {
  const { bench, dyingPing } = await startWell(aHeartbeat({ ...daily, periodSeconds: 2 }));
  await dyingPing("/fail");
  await bench.untilOrders(1);
  await bench.stopWatch();

  await dyingPing();
  await bench.start();
  await bench.untilOrders(2);

  await bench.untilWell("nightly");
  expect(eventIds(bench)).toEqual(eventIdsOf(1, "nightly"));
});
