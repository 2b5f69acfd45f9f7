/** A check that fails while its Postgres is stopped. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { eventIdOf, type Order } from "#alerts/order.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { watchStates } from "#monitor/start.ts";
import { createOwner } from "#monitor/state/owner.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { always } from "../../../support/monitor/standard-definitions.ts";
import { unusedStateParts } from "../../../support/monitor/state-parts.ts";
import { createTestDatabase } from "../../../support/run/shared-postgres.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const check = anApiCheck({ id: "probe", frequencySeconds: 1 });

async function startTarget() {
  const state = { status: 200 };
  const server = createServer((_, outgoing) => outgoing.writeHead(state.status).end("{}"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A worker that alerts from memory once Postgres is away for two seconds. */
async function startWorker() {
  const server = await createTestDatabase({ isKilled: true });
  onTestFinished(server.stop);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const target = await startTarget();
  const sent: Order[] = [];
  const { states, outage } = createOwner({
    ...unusedStateParts,
    database,
    readDefinitions: always({ apiChecks: [check] }),
    settings: { location: "local", failedAtPercent: 0, runsHere: true },
    runCheck: createRunCheck({
      probe: createProbe(),
      target: { baseUrl: target.url, readSecret: () => undefined },
      location: "local",
      nowMs: Date.now,
    }),
    sendNow: async (order) => {
      sent.push(order);
      return { kind: "accepted" };
    },
    outageLimitMs: 2_000,
  });
  await states.decideAll();
  const watch = watchStates({ states, outage, log });
  onTestFinished(watch.stop);
  const untilStatus = (status: string) =>
    waitFor(
      async () => {
        const { rows } = await database.query(
          "SELECT row -> 'state' ->> 'status' AS status FROM check_states",
        );
        return rows[0]?.status === status;
      },
      { withinMs: 30_000, what: `the check to be ${status}` },
    );
  await untilStatus("ok");
  return {
    server,
    target: target.state,
    sent: () => sent.map(eventIdOf),
    untilSent: (count: number) =>
      waitFor(() => sent.length >= count, { withinMs: 30_000, what: `${count} events` }),
    untilStatus,
    /** The events that the delivery would send. */
    queued: async () => {
      const { rows } = await database.query<{ order_: Order }>(
        "SELECT order_ FROM alert_outbox ORDER BY seq",
      );
      return rows.map(({ order_ }) => eventIdOf(order_));
    },
    episodes: async () => {
      const { rows } = await database.query(
        "SELECT episode, resolved_at IS NOT NULL AS is_over FROM check_episodes ORDER BY episode",
      );
      return rows;
    },
  };
}

it("is alerted once from memory, by the id that Postgres gives the event when it is back", async () => {
  const worker = await startWorker();

  await worker.server.kill9();
  worker.target.status = 500;
  await worker.untilSent(1);
  await delay(3_000);
  const sent = worker.sent();
  await worker.server.restart();
  await worker.untilStatus("failed");

  expect(sent).toEqual(["probe:1:opened"]);
  expect(await worker.queued()).toEqual(["probe:1:opened"]);
  expect(await worker.episodes()).toEqual([{ episode: 1, is_over: false }]);
  worker.target.status = 200;
  await worker.untilStatus("ok");
  expect(await worker.queued()).toEqual(["probe:1:opened", "probe:1:resolved"]);
  expect(worker.sent()).toEqual(sent);
});

it("that recovers and fails again meanwhile is alerted each time, and counted on", async () => {
  const worker = await startWorker();

  await worker.server.kill9();
  worker.target.status = 500;
  await worker.untilSent(1);
  worker.target.status = 200;
  await worker.untilSent(2);
  worker.target.status = 500;
  await worker.untilSent(3);
  await worker.server.restart();
  await worker.untilStatus("failed");

  expect(worker.sent()).toEqual(["probe:1:opened", "probe:1:resolved", "probe:2:opened"]);
  expect(await worker.queued()).toEqual(worker.sent());
  expect(await worker.episodes()).toEqual([
    { episode: 1, is_over: true },
    { episode: 2, is_over: false },
  ]);
});

it("sends nothing from memory when Postgres is only restarted", async () => {
  const worker = await startWorker();

  worker.target.status = 500;
  await worker.server.restart();
  await worker.untilStatus("failed");

  expect(worker.sent()).toEqual([]);
  expect(await worker.queued()).toEqual(["probe:1:opened"]);
});
