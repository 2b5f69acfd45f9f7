/** A heartbeat alerts although Restate is away, a process was killed, or Postgres was set back. */
import { expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";

const heartbeat = aHeartbeat({ id: "nightly", periodSeconds: 1, graceSeconds: 1 });

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

async function startWell(of = heartbeat) {
  const bench = await startMonitorBench({ heartbeats: [of] });
  const { ping } = await registerJob(bench, "nightly");
  await ping();
  await bench.untilWell("nightly");
  return { bench, ping };
}

const kinds = (bench: Bench) => bench.orders.map(({ transition }) => transition.kind);

it("while Restate is away, and recovers", async () => {
  const { bench, ping } = await startWell();
  await bench.restate.kill9();

  await bench.untilOrders(1);
  await ping();
  await bench.untilOrders(2);

  expect(kinds(bench)).toEqual(["opened", "resolved"]);
});

it("by a failure while Restate is away", async () => {
  const { bench, ping } = await startWell(aHeartbeat({ ...heartbeat, periodSeconds: 600 }));
  await bench.restate.kill9();

  await ping("/fail");
  await bench.untilOrders(1);

  expect(bench.orders[0]?.transition.reason).toContain("failed");
});

it("of which the deadline passed while no process watched, once one starts", async () => {
  const { bench } = await startWell();
  await bench.stopWatch();
  await bench.database.query(
    "UPDATE heartbeats SET last_ping_at = last_ping_at - interval '10 min'",
  );
  await setBack(bench, 600_000);

  await bench.start();
  await bench.untilOrders(1);

  expect(kinds(bench)).toEqual(["opened"]);
});

it("of a Postgres that was set back to a time before its last pings", async () => {
  const { bench, ping } = await startWell();
  await bench.database.query(
    "UPDATE heartbeats SET last_ping_at = last_ping_at - interval '1 day'",
  );
  await setBack(bench, 86_400_000);

  await bench.untilOrders(1);
  await ping();
  await bench.untilOrders(2);

  expect(kinds(bench)).toEqual(["opened", "resolved"]);
  const { openedAtMs = 0, reason = "" } = bench.orders[0]?.transition ?? {};
  const [since = ""] = /\d{4}-\S+ \S+ UTC/.exec(reason) ?? [];
  expect(openedAtMs - Date.parse(since)).toBeGreaterThan(86_000_000);
});

/** The last ping that the row knows is so much older. */
function setBack({ database }: Bench, ms: number) {
  return database.query(setLastPingBack, [ms]);
}

const setLastPingBack = `
  UPDATE check_states SET wake_at = clock_timestamp(), row = jsonb_set(row, '{state,lastPingAtMs}',
    to_jsonb((row #>> '{state,lastPingAtMs}')::bigint - $1::bigint))`;

it("its first deadline follows a definition that has changed", async () => {
  const bench = await startMonitorBench({
    heartbeats: [aHeartbeat({ ...heartbeat, periodSeconds: 600 })],
  });
  await registerJob(bench, "nightly");

  bench.define({ heartbeats: [heartbeat] });
  await bench.start();
  await bench.untilOrders(1);

  expect(bench.orders[0]?.transition.reason).toContain("never pinged since");
});
