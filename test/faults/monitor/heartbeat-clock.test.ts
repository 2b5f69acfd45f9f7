/** Heartbeats that were pinged while a clock was ahead: it may not keep them unwatched until then. */
import { expect, it } from "vitest";
import { createLog } from "#kernel/log.ts";
import { createTakePing } from "#monitor/heartbeat/pings.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";
import { registerJob } from "../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const dayMs = 86_400_000;

/** `early` pings by a clock that is a day ahead. */
async function startBench(periodSeconds = 1) {
  const heartbeat = aHeartbeat({ id: "nightly", periodSeconds, graceSeconds: 1 });
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const { ping, token } = await registerJob(bench, "nightly");
  const takeEarly = createTakePing({
    inbox: bench.inbox,
    log,
    nowMs: () => Date.now() + dayMs,
  });
  const early = (suffix = "") => takeEarly(`/${token}${suffix}`);
  return { bench, ping, early };
}

type Bench = Awaited<ReturnType<typeof startBench>>["bench"];

const kinds = (bench: Bench) => bench.orders.map(({ transition }) => transition.kind);

it("alerts when no ping follows one that only its row knows of", async () => {
  const { bench, ping, early } = await startBench();
  await ping();
  await bench.untilWell("nightly");

  await early();
  // As when the clock is set right and everything starts again.
  await bench.start();
  await bench.untilOrders(1);
  await ping();
  await bench.untilOrders(2);

  expect(kinds(bench)).toEqual(["opened", "resolved"]);
  expect(bench.orders[1]?.transition.missedPings).toBeLessThan(60);
});

it("alerts when no ping follows one of its first decision", async () => {
  const { bench, ping, early } = await startBench();

  await early();
  await bench.untilWell("nightly");
  await bench.start();
  await bench.untilOrders(1);
  await ping();
  await bench.untilOrders(2);

  expect(kinds(bench)).toEqual(["opened", "resolved"]);
});

it("alerts when no ping follows such a start", async () => {
  const { bench, ping, early } = await startBench();
  await ping();
  await bench.untilWell("nightly");

  await early("/start");
  await bench.untilOrders(1);

  expect(kinds(bench)).toEqual(["opened"]);
});

it("alerts when no ping follows one that was stored while the clock of the database was ahead", async () => {
  const { bench, ping } = await startBench();
  await ping();
  await bench.untilWell("nightly");

  await bench.database.query(
    "UPDATE heartbeats SET last_ping_at = last_ping_at + interval '1 day'",
  );
  await bench.database.query(setPingAhead, [dayMs]);
  await bench.start();
  await bench.untilOrders(1);
  await ping();
  await bench.untilOrders(2);

  expect(kinds(bench)).toEqual(["opened", "resolved"]);
  expect(bench.orders[1]?.transition.missedPings).toBeLessThan(60);
});

const setPingAhead = `
  UPDATE check_states SET wake_at = wake_at + interval '1 day', row = jsonb_set(row,
    '{state,lastPingAtMs}', to_jsonb((row #>> '{state,lastPingAtMs}')::bigint + $1::bigint))`;

it("takes a failure that follows it, which it does not end", async () => {
  const { bench, ping, early } = await startBench(600);
  await early();
  await bench.untilWell("nightly");
  await early();

  await ping("/fail");
  await bench.untilOrders(1);
  await bench.start();
  await waitFor(async () => (await bench.snapshot("nightly"))?.status === "failed", {
    withinMs: 10_000,
    what: "the failure to show",
  });
  await ping("/fail");

  expect(kinds(bench)).toEqual(["opened"]);
});

it("stays well with pings that come on time", async () => {
  const { bench, ping, early } = await startBench();
  await early();
  await bench.untilWell("nightly");
  await bench.start();

  const startedMs = Date.now();
  await waitFor(async () => (await ping()) && Date.now() - startedMs > 4_000, {
    withinMs: 10_000,
    what: "pings for four seconds",
  });

  expect(kinds(bench)).toEqual([]);
  const { lastAtMs } = await bench.snapshot("nightly");
  expect(lastAtMs).toBeLessThan(Date.now() + 1_000);
});

it("is shown as well again that alerted by a clock that was a little ahead", async () => {
  const { bench, ping } = await startBench(60);
  const untilShown = (status: string) =>
    waitFor(async () => (await bench.snapshot("nightly"))?.status === status, {
      withinMs: 10_000,
      what: `it to be shown as ${status}`,
    });
  await ping();
  await bench.untilWell("nightly");
  await ping("/fail");
  await bench.untilOrders(1);
  await bench.database.query(setAhead, [300_000]);
  await untilShown("failed");

  await ping();
  await bench.untilOrders(2);

  await untilShown("ok");
  expect(kinds(bench)).toEqual(["opened", "resolved"]);
});

const setAhead = `
  UPDATE check_states SET row = jsonb_set(jsonb_set(row,
    '{state,sinceMs}', to_jsonb((row #>> '{state,sinceMs}')::bigint + $1::bigint)),
    '{state,alert,openedAtMs}', to_jsonb((row #>> '{state,alert,openedAtMs}')::bigint + $1::bigint))`;
