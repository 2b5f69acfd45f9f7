/** A Postgres that was restored from a backup knows less of a heartbeat than its object does. */
import { expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const heartbeat = aHeartbeat({ id: "nightly", periodSeconds: 600, graceSeconds: 600 });

it("an alert that opened after the backup is resolved by the next ping", async () => {
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const { ping } = await registerJob(bench, "nightly");
  await ping();
  await bench.untilWell("nightly");
  const { rows } = await bench.database.query("SELECT * FROM heartbeats");
  const [{ last_ping_at, due_at, told_at }] = rows;
  await ping("/fail");
  await bench.untilOrders(1);
  await bench.database.query(
    "UPDATE heartbeats SET is_watched = false, last_ping_at = $1, due_at = $2, told_at = $3",
    [last_ping_at, due_at, told_at],
  );

  await ping();
  // The object looks once a minute while its alert is open.
  await waitFor(() => bench.orders.length >= 2, { withinMs: 90_000, what: "the recovery" });

  const eventIds = bench.orders.map(({ transition }) => transition.eventId);
  expect(eventIds).toEqual(["nightly:1:opened", "nightly:1:resolved"]);
}, 120_000);
