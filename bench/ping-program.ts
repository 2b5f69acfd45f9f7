/** The whole program as `vedette start` runs it, with heartbeats that are registered and well. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { type AlertReceiver, startAlertReceiver } from "../test/support/alerts/alert-receiver.ts";
import { aHeartbeatRow } from "../test/support/monitor/check-rows.ts";
import { type Program, startProgram } from "../test/support/program/program.ts";
import { makeTempDir } from "../test/support/temp-dir.ts";
import { withStops } from "./clean-up.ts";
import { cpuMsOf } from "./measure.ts";
import { pingTokenOf } from "./monitor-plan.ts";
import { sendPings } from "./ping-load.ts";

export type PingBench = {
  controlUrl: string;
  database: Database;
  receiver: AlertReceiver;
  ids: readonly string[];
  /** Up to now, in ms. */
  cpu: () => ProgramCpu;
};

export type ProgramCpu = { program: number; Restate: number; Postgres: number };

type Options = {
  count: number;
  periodSeconds: number;
  graceSeconds: number;
  /** `rows`: as heartbeats that are ok leave them: made in seconds. */
  made: "rows" | "calls";
};

/** Runs `measure`, and cleans up also when it fails or is interrupted. */
export function withPings(
  options: Options,
  measure: (bench: PingBench) => Promise<void>,
): Promise<void> {
  return withStops((stops) => prepare(options, stops).then(measure));
}

async function prepare(options: Options, stops: (() => unknown)[]): Promise<PingBench> {
  const ids = Array.from({ length: options.count }, (_, i) => `job-${i}`);
  const directory = makeTempDir();
  stops.push(directory.remove);
  const receiver = await startAlertReceiver();
  stops.push(receiver.stop);
  const program = await startProgram({
    VEDETTE_DEFINITIONS__FILE: writeDefinitions(directory.path, ids, options),
    VEDETTE_INCIDENT__URL: receiver.url,
    VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: receiver.sourceId,
    VEDETTE_ALERTS__PRODUCTION__TOKEN: receiver.token,
    NODE_OPTIONS: process.env["BENCH_NODE_OPTIONS"] ?? "",
  });
  stops.push(program.dispose);
  const log = createLog({ level: "silent", format: "json" });
  const database = openDatabase(runningDatabaseUrl(program.dataDir), log);
  stops.push(() => database.end());
  const controlUrl = program.endpoints().control;
  const bench = { controlUrl, database, receiver, ids, cpu: createCpu(program) };
  if (options.made === "rows") await insertRows(database, ids, options);
  else await register(program, ids).then(() => makeWell(bench));
  await untilIdle(bench);
  return bench;
}

function writeDefinitions(
  directory: string,
  ids: readonly string[],
  { periodSeconds, graceSeconds }: Options,
): string {
  const file = path.join(directory, "vedette.config.json");
  const heartbeats = ids.map((id) => ({ id, periodSeconds, graceSeconds, channels: ["on-call"] }));
  const channels = [{ id: "on-call", kind: "incident", environment: "production" }];
  writeFileSync(file, JSON.stringify({ channels, heartbeats }));
  return file;
}

/** Reads the processor time of the program's own process and of its servers, which are its children. */
export function createCpu(program: Program) {
  const pidOf = (part: string) =>
    JSON.parse(readFileSync(path.join(program.dataDir, `${part}.pid.json`), "utf8")).pid as number;
  const pids = { Restate: pidOf("restate"), Postgres: pidOf("postgres") };
  const own = program.endpoints().pid;
  return (): ProgramCpu => {
    const servers = { Restate: cpuMsOf(pids.Restate), Postgres: cpuMsOf(pids.Postgres) };
    return { program: cpuMsOf(own) - servers.Restate - servers.Postgres, ...servers };
  };
}

/** Until the definitions are applied and nothing is left to do: less than a fifth of a core for two seconds. */
async function untilIdle({ cpu }: PingBench): Promise<void> {
  const deadlineMs = Date.now() + 600_000;
  const spent = () => Object.values(cpu()).reduce((a, b) => a + b);
  for (;;) {
    const before = spent();
    await delay(2_000);
    if (spent() - before < 400) return;
    if (Date.now() > deadlineMs) throw new Error("the program does not come to rest");
  }
}

async function insertRows(
  database: Database,
  ids: readonly string[],
  { periodSeconds, graceSeconds }: Options,
): Promise<void> {
  const nowMs = Date.now();
  const dueMs = nowMs + (periodSeconds + graceSeconds) * 1_000;
  const row = aHeartbeatRow({ createdAtMs: nowMs, sinceMs: nowMs, lastPingAtMs: nowMs });
  await database.query(
    `INSERT INTO check_states (id, kind, row, wake_at)
     SELECT id, 'heartbeat', $2::jsonb, $3::timestamptz FROM unnest($1::text[]) AS id
     ON CONFLICT (id) DO UPDATE SET row = excluded.row, wake_at = excluded.wake_at`,
    [ids, JSON.stringify(row), new Date(dueMs)],
  );
  await database.query(
    `INSERT INTO heartbeats (id, token_hash, registered_by, last_ping_at, is_watched)
     SELECT id, token_hash, 'bench', $3, false
     FROM unnest($1::text[], $2::bytea[]) AS t (id, token_hash)`,
    [ids, ids.map(hashOf), new Date(nowMs)],
  );
}

const hashOf = (id: string) => createHash("sha256").update(pingTokenOf(id)).digest();

async function register(program: Program, ids: readonly string[]): Promise<void> {
  const limit = pLimit(32);
  const one = async (id: string) => {
    const token_hash = hashOf(id).toString("hex");
    const { status, body } = await program.post(`vedette.v1.Heartbeat/${id}/Register`, {
      token_hash,
    });
    if (status !== 200) throw new Error(`${id}: ${status} ${JSON.stringify(body)}`);
  };
  await Promise.all(ids.map((id) => limit(() => one(id))));
}

/** The first ping of each is decided; from then on it is ok, and pings only move its deadline. */
async function makeWell({ controlUrl, database, ids }: PingBench): Promise<void> {
  const deadlineMs = Date.now() + 300_000;
  const isOneWatched = "SELECT 1 FROM heartbeats WHERE is_watched LIMIT 1";
  do {
    if (Date.now() > deadlineMs) throw new Error("not all heartbeats are well");
    await sendPings(controlUrl, { tokens: ids.map(pingTokenOf), overMs: ids.length * 10 });
    await delay(3_000);
  } while ((await database.query(isOneWatched)).rows.length > 0);
}
