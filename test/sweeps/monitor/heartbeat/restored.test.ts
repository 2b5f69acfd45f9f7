/** A Postgres that was restored from a backup, as docs/operations.md says: it knows less than the receivers of alerts. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";

const heartbeat = aHeartbeat({ id: "nightly", periodSeconds: 600, graceSeconds: 600 });

/** The statement of the page, as an operator runs it before the start. */
function countOn(): string {
  const page = readFileSync("docs/operations.md", "utf8");
  return /`(UPDATE\s+check_states SET [^`]+)`/.exec(page)?.[1] ?? "";
}

/** Restores the tables of the states as they were before an episode of one alert. */
async function restoreBeforeAlert() {
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const { ping } = await registerJob(bench, "nightly");
  await ping();
  await bench.untilWell("nightly");
  await bench.database.query(backUp);
  await ping("/fail");
  await bench.untilOrders(1);
  await bench.stopWatch();
  await bench.database.query(restore);
  return { bench, ping };
}

const backUp = `
  CREATE TABLE states_before AS TABLE check_states; CREATE TABLE heartbeats_before AS TABLE heartbeats`;

const restore = `
  TRUNCATE check_states, heartbeats;
  INSERT INTO check_states TABLE states_before; INSERT INTO heartbeats TABLE heartbeats_before`;

it("a failure after it alerts by an id that no receiver knows", async () => {
  const { bench, ping } = await restoreBeforeAlert();
  await bench.database.query(countOn());
  await bench.start();

  await ping("/fail");
  await bench.untilOrders(2);

  const eventIds = bench.orders.map(({ transition }) => transition.eventId);
  expect(eventIds).toEqual(["nightly:1:opened", "nightly:1001:opened"]);
});

it("a heartbeat that is not pinged after it alerts", async () => {
  const { bench } = await restoreBeforeAlert();
  await bench.database.query(countOn());
  const short = aHeartbeat({ ...heartbeat, periodSeconds: 1, graceSeconds: 1 });
  bench.define({ heartbeats: [short] });

  await bench.start();
  await bench.untilOrders(2);

  expect(bench.orders[1]?.transition.reason).toContain("no ping since");
});
