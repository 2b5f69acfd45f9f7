/** What waits for timers of a Restate whose clock was set back. */
import { expect, it, onTestFinished } from "vitest";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createDeadlines } from "#monitor/heartbeat/deadlines.ts";
import { startMonitor } from "#monitor/start.ts";
import { startAlertBench } from "../../support/alerts/alert-bench.ts";
import { buildOrder } from "../../support/alerts/alert-builders.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";
import { always } from "../../support/monitor/standard-definitions.ts";

const log = createLog({ level: "silent", format: "json" });

it("an alert event that waits for a retry is retried at once", async () => {
  const bench = await startAlertBench();
  const database = openDatabase(bench.server.url, log);
  onTestFinished(() => database.end());
  bench.receiver.script.push({ status: 429, headers: { "retry-after": "600" } });
  const order = buildOrder({ checkId: "nightly" });
  await bench.enqueue([order]);
  await bench.untilAttempted(1);
  const clock = { aheadMs: 3_600_000 };
  const monitor = await startMonitor(bench.restate.ingressUrl, {
    readDefinitions: always({ heartbeats: [aHeartbeat({ id: "nightly" })] }),
    deadlines: createDeadlines(database),
    log,
    aheadMs: () => clock.aheadMs,
  });
  onTestFinished(monitor.stop);

  clock.aheadMs = 0;
  await bench.untilReceived(1);

  expect(bench.receivedIds()).toEqual([order.transition.eventId]);
});
