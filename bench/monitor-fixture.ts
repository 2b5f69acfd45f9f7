/** What the measurements of the monitor share: servers as `npm start` has them, a target and a receiver. */
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
import type { NodeSettings, Plan } from "./monitor-plan.ts";

const log = createLog({ level: "silent", format: "json" });

type Accepted = { check: string; acceptedMs: number };

export type MonitorBench = {
  database: Database;
  ingressUrl: string;
  controlUrl: string;
  /** Sets the checks going. */
  start: () => Promise<void>;
  pids: { worker: number; restate: number; postgres: number };
  /** Alert events in the order of their arrival. Clock: `performance.now()` plus `timeOrigin`. */
  accepted: Accepted[];
  /** With `isNoting`: when each alert was handed over to the delivery. */
  openedMs: number[];
};

type Options = { plan: Plan; isProbing?: boolean; isNoting?: boolean };

/** Runs `measure`, and leaves nothing behind when it fails or is interrupted. */
export async function withMonitor(
  options: Options,
  measure: (bench: MonitorBench) => Promise<void>,
): Promise<void> {
  const stops: (() => unknown)[] = [];
  const interrupted = Promise.withResolvers<never>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => interrupted.reject(new Error(`interrupted by ${signal}`)));
  }
  try {
    await Promise.race([prepare(options, stops).then(measure), interrupted.promise]);
  } finally {
    for (const stop of stops.reverse()) {
      await Promise.try(stop).catch((error) => console.error("a part was not stopped:", error));
    }
  }
}

export const nowMs = () => performance.timeOrigin + performance.now();

async function prepare(
  { plan, isProbing = true, isNoting = false }: Options,
  stops: (() => unknown)[],
): Promise<MonitorBench> {
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
  const accepted: Accepted[] = [];
  const node = await startNode(stops, {
    plan,
    isProbing,
    isNoting,
    databaseUrl: postgres.url,
    ingressUrl,
    targetUrl: await listen(stops, answerChecks),
    receiverUrl: await listen(stops, acceptEvents(accepted)),
  });
  await registerWorker({ adminUrl, workerUrl: node.workerUrl, revision: "bench" });
  const { start, controlUrl, pid, openedMs } = node;
  const pids = { worker: pid, restate: restate.pid(), postgres: postgres.pid() };
  return { database, ingressUrl, controlUrl, start, pids, accepted, openedMs };
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
  const openedMs: number[] = [];
  const started = Promise.withResolvers<void>();
  child.on("message", (note: "started" | { atMs: number }) => {
    if (note === "started") started.resolve();
    else openedMs.push(note.atMs);
  });
  const start = async () => {
    child.send("start");
    await Promise.race([started.promise, ended]);
  };
  return { ...message, start, pid: child.pid ?? 0, openedMs };
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

const answerChecks: RequestListener = (_, outgoing) => outgoing.writeHead(200).end("{}");

function acceptEvents(accepted: Accepted[]): RequestListener {
  return async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const acceptedMs = nowMs();
    const event = JSON.parse(Buffer.concat(chunks).toString());
    const { deduplication_key } = event;
    accepted.push({ check: deduplication_key, acceptedMs });
    const message = "Event accepted for processing";
    outgoing
      .writeHead(202, { "content-type": "application/json" })
      .end(JSON.stringify({ status: "success", message, deduplication_key }));
  };
}
