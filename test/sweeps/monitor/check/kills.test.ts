/** A check every second while the worker and Restate are killed again and again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { registerWorker } from "#worker/register.ts";
import { startAlertReceiver } from "../../../support/alerts/alert-receiver.ts";
import type { CheckWorkerSettings } from "../../../support/monitor/check-worker.ts";
import { startTestDatabase, startTestRestate } from "../../../support/servers/servers.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const entry = fileURLToPath(new URL("../../../support/monitor/check-worker.ts", import.meta.url));

async function startTarget() {
  const state = { status: 200 };
  const server = createServer((_, outgoing) => outgoing.writeHead(state.status).end("{}"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function startWorker(settings: CheckWorkerSettings) {
  let child: ChildProcess;
  let { port } = settings;
  const start = async () => {
    const started = spawn(process.execPath, [entry, JSON.stringify({ ...settings, port })], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    child = started;
    const [line] = (await once(started.stdout, "data")) as [Buffer];
    port = Number(line.toString());
  };
  await start();
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    url: `http://127.0.0.1:${port}`,
    killAndRestart: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
      await start();
    },
  };
}

async function startBench() {
  const receiver = await startAlertReceiver();
  onTestFinished(receiver.stop);
  const server = await startTestDatabase();
  onTestFinished(server.stop);
  await migrate(server.url, log);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const target = await startTarget();
  const { url, sourceId, token } = receiver;
  const worker = await startWorker({
    port: 0,
    databaseUrl: server.url,
    targetUrl: target.url,
    receiver: { url, sourceId, token },
  });
  const restate = await startTestRestate({ services: [] });
  onTestFinished(restate.stop);
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: worker.url, revision: "kills" });
  const ensure = await fetch(`${ingressUrl}/vedette.v1.ApiCheck/probe/ensure`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect(ensure.status).toBe(200);
  return { receiver, database, target, worker, restate };
}

/** Seconds since the first tick: of the runs, and of those that are noted as missed. */
async function readTicks(database: Database) {
  const { rows: results } = await database.query(
    "SELECT scheduled_at AS at, grade FROM check_results ORDER BY scheduled_at",
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
    grades: results.map(({ grade }) => grade as string),
  };
}

it("no run is lost or made twice, and each alert is sent in its turn", async () => {
  const { receiver, database, target, worker, restate } = await startBench();
  const resultsBefore = async () => (await readTicks(database)).runs.length;
  const untilMore = async (count: number) => {
    const seen = await resultsBefore();
    await waitFor(async () => (await resultsBefore()) >= seen + count, {
      withinMs: 30_000,
      what: "runs",
    });
  };

  for (let round = 0; round < 12; round += 1) {
    target.state.status = round % 2 === 0 ? 500 : 200;
    // At another moment of the second each time.
    await delay(round * 83);
    if (round % 3 === 2) {
      await restate.kill9();
      await restate.restart();
    } else {
      await worker.killAndRestart();
    }
    await untilMore(2);
  }
  await waitFor(() => receiver.events.at(-1)?.status === "resolved", {
    withinMs: 30_000,
    what: "the last recovery",
  });

  const { runs, missed } = await readTicks(database);
  const ticks = [...new Set([...runs, ...missed])].sort((a, b) => a - b);
  expect(new Set(runs).size).toBe(runs.length);
  expect(ticks).toEqual(ticks.map((_, n) => n));
  const ids = [...new Set(receiver.events.map(({ eventId }) => eventId))];
  expect(ids).toEqual(
    ids.map((_, n) => `probe:${Math.floor(n / 2) + 1}:${n % 2 === 0 ? "opened" : "resolved"}`),
  );
  expect(ids.length).toBeGreaterThanOrEqual(8);
  expect(receiver.faults).toEqual([]);
}, 300_000);
