/** A check every second of a target that flaps, while its worker is killed at ever another moment. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { startAlertReceiver } from "../../../support/alerts/alert-receiver.ts";
import type { CheckWorkerSettings } from "../../../support/monitor/check-worker.ts";
import { createTestDatabase } from "../../../support/run/shared-postgres.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const entry = fileURLToPath(new URL("../../../support/monitor/check-worker.ts", import.meta.url));

/** Fails or answers, as it is told. */
async function startTarget() {
  const state = { status: 200, asked: Promise.withResolvers<void>() };
  const server = createServer((_, outgoing) => {
    outgoing.writeHead(state.status).end("{}");
    state.asked.resolve();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Answers with this status from now on. Resolves when the next run has got its answer. */
    answer: (status: number) => {
      Object.assign(state, { status, asked: Promise.withResolvers<void>() });
      return state.asked.promise;
    },
  };
}

function createWorker(settings: CheckWorkerSettings) {
  let child: ChildProcess | undefined;
  onTestFinished(() => void child?.kill("SIGKILL"));
  return {
    start: async () => {
      const started = spawn(process.execPath, [entry, JSON.stringify(settings)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      child = started;
      await once(started.stdout, "data");
    },
    kill9: async () => {
      child?.kill("SIGKILL");
      if (child !== undefined) await once(child, "exit");
    },
  };
}

/** Seconds since the first tick: of the runs, and of those that are recorded as missed. */
async function readTicks(database: Database) {
  const { rows: results } = await database.query(
    "SELECT scheduled_at AS at FROM check_results ORDER BY scheduled_at",
  );
  const { rows: missed } = await database.query("SELECT from_at, ticks FROM check_missed_ticks");
  const all = [...results.map(({ at }) => at), ...missed.map(({ from_at }) => from_at)];
  const firstMs = Math.min(...all.map((at) => at.getTime()));
  const secondOf = (at: Date) => (at.getTime() - firstMs) / 1_000;
  return {
    runs: results.map(({ at }) => secondOf(at)),
    missed: missed.flatMap(({ from_at, ticks }) =>
      Array.from({ length: ticks }, (_, n) => secondOf(from_at) + n),
    ),
  };
}

/** Each with one transition. */
const rounds = 40;

/** The events of `count` transitions. */
const eventsOf = (count: number) =>
  Array.from(
    { length: count },
    (_, n) => `probe:${Math.floor(n / 2) + 1}:${n % 2 === 0 ? "opened" : "resolved"}`,
  );

it("each transition makes one event, in order, whenever the worker is killed", async () => {
  const receiver = await startAlertReceiver();
  onTestFinished(receiver.stop);
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const target = await startTarget();
  const { url, sourceId, token } = receiver;
  const worker = createWorker({
    databaseUrl: server.url,
    targetUrl: target.url,
    receiver: { url, sourceId, token },
  });
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

  await worker.start();
  await untilStatus("ok");
  // From before the transaction of the failing or recovering run until after its event was sent.
  for (let round = 0; round < rounds; round += 1) {
    const status = round % 2 === 0 ? 500 : 200;
    await target.answer(status);
    await delay(round * 4);
    await worker.kill9();
    await worker.start();
    await untilStatus(status === 200 ? "ok" : "failed");
  }
  const episodes = await waitFor(
    async () => {
      const { rows } = await database.query(
        "SELECT episode, resolved_at IS NOT NULL AS is_over FROM check_episodes ORDER BY episode",
      );
      const ids = new Set(receiver.events.map(({ eventId }) => eventId));
      return ids.size >= rounds && rows;
    },
    { withinMs: 30_000, what: "the event of the last recovery" },
  );

  const { runs, missed } = await readTicks(database);
  const ticks = [...new Set([...runs, ...missed])].sort((a, b) => a - b);
  expect(new Set(runs).size).toBe(runs.length);
  expect(ticks).toEqual(ticks.map((_, n) => n));
  // One is sent again if the worker was killed before it stored the answer.
  const ids = [...new Set(receiver.events.map(({ eventId }) => eventId))];
  expect(ids).toEqual(eventsOf(rounds));
  expect(episodes).toEqual(
    Array.from({ length: rounds / 2 }, (_, n) => ({ episode: n + 1, is_over: true })),
  );
  const { rows: events } = await database.query("SELECT event_id FROM alert_events");
  expect(events.map(({ event_id }) => event_id).sort()).toEqual(ids.toSorted());
  expect(receiver.faults).toEqual([]);
}, 300_000);
