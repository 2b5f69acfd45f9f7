/** Alert events that wait for a retry when the clock of Postgres is set back. */
import { expect, it, onTestFinished } from "vitest";
import type { Outcome } from "#alerts/outcome.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createStates } from "#monitor/state/store.ts";
import { watchStates } from "#monitor/state/watch.ts";
import { startAlertBench } from "../../support/alerts/alert-bench.ts";
import { buildDirectOrder, buildOrder } from "../../support/alerts/alert-builders.ts";
import { always } from "../../support/monitor/standard-definitions.ts";
import { unusedStateParts } from "../../support/monitor/state-parts.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });

/** A worker on this database, whose clock is set back by an hour. */
async function setBackClock(databaseUrl: string) {
  const database = openDatabase(databaseUrl, log);
  onTestFinished(() => database.end());
  const states = createStates({ ...unusedStateParts, database, readDefinitions: always({}) });
  let aheadMs = 3_600_000;
  let turns = 0;
  const untilNext = async () => {
    const next = await states.untilNext();
    turns += 1;
    return { ...next, nowMs: next.nowMs + aheadMs };
  };
  const outage = { failed: () => {}, over: async () => {} };
  const watch = watchStates({ states: { ...states, untilNext }, outage, log });
  onTestFinished(watch.stop);
  await waitFor(() => turns > 0, { withinMs: 20_000, what: "the clock to be known" });
  aheadMs = 0;
}

it("an alert event that waits for a retry is retried at once", async () => {
  const bench = await startAlertBench();
  bench.receiver.script.push({ status: 429, headers: { "retry-after": "600" } });
  const order = buildOrder({ checkId: "nightly" });
  await bench.enqueue([order]);
  await bench.untilAttempted(1);

  await setBackClock(bench.server.url);
  await bench.untilReceived(1);

  expect(bench.receivedIds()).toEqual([order.transition.eventId]);
});

it("so is one that waits for a channel that is sent to directly", async () => {
  const answers: Outcome[] = [{ kind: "retry", cause: "status 429", afterMs: 600_000 }];
  const bench = await startAlertBench({
    send: async () => answers.shift() ?? { kind: "accepted" },
  });
  const order = buildDirectOrder(chat, { checkId: "nightly" });
  await bench.enqueue([order]);
  await bench.untilStatus(order.transition.eventId, "pending");

  await setBackClock(bench.server.url);

  await bench.untilStatus(order.transition.eventId, "accepted");
});
