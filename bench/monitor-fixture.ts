/** Shared by the measurements of the monitor: servers as `npm start` runs them, a target and a receiver. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { registerWorker } from "#worker/register.ts";
import { withStops } from "./clean-up.ts";
import { cpuMsOf } from "./measure.ts";
import type { NodeSettings, Plan, Wish } from "./monitor-plan.ts";

const log = createLog({ level: "silent", format: "json" });

export type MonitorBench = {
  database: Database;
  ingressUrl: string;
  controlUrl: string;
  /** Starts the checks. */
  start: () => Promise<void>;
  /** Call it after a commit with alert events, as the worker does. */
  wakeDelivery: () => void;
  /** Up to now, in ms. */
  cpu: () => { worker: number; Restate: number; Postgres: number };
};

type Options = {
  plan: Plan;
  isProbing?: boolean;
  /** Acts as the target of the checks; absent: every request succeeds. */
  answerCheck?: RequestListener;
  /** Acts as the incident service; called when it has received the event. */
  takeEvent?: (eventId: string) => void;
};

/** Runs `measure`, and cleans up also when it fails or is interrupted. */
export function withMonitor(
  options: Options,
  measure: (bench: MonitorBench) => Promise<void>,
): Promise<void> {
  return withStops((stops) => prepare(options, stops).then(measure));
}

export const nowMs = () => performance.timeOrigin + performance.now();

async function prepare(options: Options, stops: (() => unknown)[]): Promise<MonitorBench> {
  const { plan, isProbing = true, answerCheck = answerWell } = options;
  const { takeEvent = () => {} } = options;
  const dataDir = mkdtempSync(path.join(tmpdir(), "vedette-bench-"));
  stops.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres({ dataDir, port: 0, password: "bench", log });
  stops.push(postgres.stop);
  await migrate(postgres.url, log);
  const database = openDatabase(postgres.url, log);
  stops.push(() => database.end());
  const restate = await startRestate({ dataDir, ingressPort: 0, adminPort: 0, log });
  stops.push(restate.stop);
  const { ingressUrl, adminUrl } = restate;
  const node = await startNode(stops, {
    plan,
    isProbing,
    databaseUrl: postgres.url,
    ingressUrl,
    targetUrl: await listen(stops, answerCheck),
    receiverUrl: await listen(stops, acceptEvents(takeEvent)),
  });
  await registerWorker({ adminUrl, workerUrl: node.workerUrl, revision: "bench" });
  const { start, wakeDelivery, controlUrl, pid } = node;
  const cpu = () => ({
    worker: cpuMsOf(pid),
    Restate: cpuMsOf(restate.pid()),
    Postgres: cpuMsOf(postgres.pid()),
  });
  return { database, ingressUrl, controlUrl, start, wakeDelivery, cpu };
}

const program = fileURLToPath(new URL("./monitor-node.ts", import.meta.url));

async function startNode(stops: (() => unknown)[], settings: NodeSettings) {
  const child = fork(program, { env: { ...process.env, BENCH_NODE: JSON.stringify(settings) } });
  const ended = once(child, "exit").then(() => {
    throw new Error("the worker's process ended");
  });
  ended.catch(() => {});
  stops.push(async () => {
    child.kill("SIGKILL");
    await ended.catch(() => {});
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as [
    { workerUrl: string; controlUrl: string },
  ];
  const started = Promise.withResolvers<void>();
  child.once("message", () => started.resolve());
  const wish = (wanted: Wish) => void child.send(wanted);
  const start = async () => {
    wish("start");
    await Promise.race([started.promise, ended]);
  };
  return { ...message, start, wakeDelivery: () => wish("wake"), pid: child.pid ?? 0 };
}

async function listen(stops: (() => unknown)[], answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answerWell: RequestListener = (_, outgoing) => outgoing.writeHead(200).end("{}");

function acceptEvents(takeEvent: (eventId: string) => void): RequestListener {
  return async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { deduplication_key, metadata } = JSON.parse(Buffer.concat(chunks).toString());
    takeEvent(metadata.event_id);
    const message = "Event accepted for processing";
    outgoing
      .writeHead(202, { "content-type": "application/json" })
      .end(JSON.stringify({ status: "success", message, deduplication_key }));
  };
}
