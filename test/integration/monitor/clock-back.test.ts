/** What waits for timers of a Restate whose clock was set back. */
import { expect, it, onTestFinished } from "vitest";
import type { Outcome } from "#alerts/outcome.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import type { Heartbeat } from "#monitor/contract.ts";
import { createDeadlines } from "#monitor/heartbeat/deadlines.ts";
import { startMonitor } from "#monitor/start.ts";
import { startAlertBench } from "../../support/alerts/alert-bench.ts";
import { buildDirectOrder, buildOrder } from "../../support/alerts/alert-builders.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";
import { always } from "../../support/monitor/standard-definitions.ts";

const log = createLog({ level: "silent", format: "json" });

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });

/** A worker that watches this heartbeat; sets the clock back by an hour. */
async function setBackClock(ingressUrl: string, heartbeat: Heartbeat, database: Database) {
  const clock = { aheadMs: 3_600_000 };
  const monitor = await startMonitor(ingressUrl, {
    readDefinitions: always({ heartbeats: [heartbeat] }),
    deadlines: createDeadlines(database),
    log,
    aheadMs: () => clock.aheadMs,
  });
  onTestFinished(monitor.stop);
  clock.aheadMs = 0;
}

it("an alert event that waits for a retry is retried at once", async () => {
  const bench = await startAlertBench();
  const database = openDatabase(bench.server.url, log);
  onTestFinished(() => database.end());
  bench.receiver.script.push({ status: 429, headers: { "retry-after": "600" } });
  const order = buildOrder({ checkId: "nightly" });
  await bench.enqueue([order]);
  await bench.untilAttempted(1);

  await setBackClock(bench.restate.ingressUrl, aHeartbeat({ id: "nightly" }), database);
  await bench.untilReceived(1);

  expect(bench.receivedIds()).toEqual([order.transition.eventId]);
});

it("so is one that waits for a channel that is sent to directly", async () => {
  const answers: Outcome[] = [{ kind: "retry", cause: "status 429", afterMs: 600_000 }];
  const bench = await startAlertBench({
    send: async () => answers.shift() ?? { kind: "accepted" },
  });
  const database = openDatabase(bench.server.url, log);
  onTestFinished(() => database.end());
  const order = buildDirectOrder(chat, { checkId: "nightly" });
  await bench.enqueue([order]);
  await bench.untilStatus(order.transition.eventId, "pending");

  const heartbeat = aHeartbeat({ id: "nightly", directChannels: [chat] });
  await setBackClock(bench.restate.ingressUrl, heartbeat, database);

  await bench.untilStatus(order.transition.eventId, "accepted");
});
