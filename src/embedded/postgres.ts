/** The Postgres server from npm, for machines without another one. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import pRetry from "p-retry";
import type pg from "pg";
import { Client } from "#kernel/database-connection.ts";
import type { Log } from "#kernel/log.ts";
import {
  createCluster,
  databaseUser,
  findBinaries,
  isListening,
  postgresEnvironment,
  removeDrafts,
  requireProof,
} from "./postgres-cluster.ts";
import { clearStaleLock } from "./postgres-lock.ts";
import { type RunAs, runPostgresAs, spawnIdentity } from "./postgres-user.ts";
import {
  endLeftover,
  type SupervisedServer,
  startOnFreePorts,
  superviseServer,
  takePort,
} from "./supervised.ts";

export type PostgresSettings = {
  dataDir: string;
  port: number;
  /** Password of the database user; must be that of the first start. */
  password: string;
  /** Further `name=value` settings of the server; they override ours. */
  options?: string[];
  log: Log;
  /** Aborts a start: it then throws and leaves no process. */
  signal?: AbortSignal | undefined;
  /** Called whenever a process was begun: of the set-up, or the server. */
  onLaunch?: (() => void) | undefined;
};

export type PostgresServer = SupervisedServer & {
  /** postgres://… with the password: a secret. */
  url: string;
};

const database = "vedette";

// SIGINT is a fast shutdown: it ends the sessions and keeps what they committed.
const ending = { stopSignal: "SIGINT", stopWithinMs: 20_000 } as const;

/** Starts it on loopback, in `<dataDir>/postgres`, and keeps it running; ends one left behind. Throws why it cannot. */
export async function startPostgres(settings: PostgresSettings): Promise<PostgresServer> {
  const directory = path.resolve(settings.dataDir, "postgres");
  const pidFile = path.resolve(settings.dataDir, "postgres.pid.json");
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 });
  await endLeftover({ pidFile, ...ending });
  await clearStaleLock(directory, ending.stopWithinMs);
  removeDrafts(directory);
  const { initdb, postgres } = await findBinaries();
  const { password, signal, onLaunch } = settings;
  const runAs = runPostgresAs({ program: postgres, directory });
  return startOnFreePorts(async () => {
    const port = await takePort(settings.port, "database.port");
    signal?.throwIfAborted();
    if (!existsSync(directory)) {
      await createCluster({ directory, password, runAs, initdb, signal, onLaunch });
    }
    const command = [postgres, "-D", directory, ...serverOptions(port, settings)];
    const isOurs = () => isListening(directory, port);
    const start = () => {
      const child = launch(command, runAs);
      onLaunch?.();
      return child;
    };
    return serve({ port, pidFile, settings, isOurs, launch: start });
  });
}

type Service = {
  port: number;
  pidFile: string;
  settings: PostgresSettings;
  /** True if this server, and no other, listens on the port. */
  isOurs: () => boolean;
  launch: () => ChildProcess;
};

async function serve({
  port,
  pidFile,
  settings,
  isOurs,
  launch,
}: Service): Promise<PostgresServer> {
  const url = (name: string) =>
    `postgres://${databaseUser}:${encodeURIComponent(settings.password)}@127.0.0.1:${port}/${name}${requireProof}`;
  const server = await superviseServer({
    ...ending,
    name: "postgres",
    pidFile,
    launch,
    isReady: async () => isOurs() && (await canConnect(url("postgres"))),
    // After a crash the server may have to replay a long log before it takes connections.
    readyWithinMs: 120_000,
    isTransient: isMemoryInUse,
    log: settings.log,
    signal: settings.signal,
  });
  try {
    // On a busy machine even a ready server may be slow to accept the next connection.
    await pRetry(() => createDatabase(url("postgres")), { retries: 5, minTimeout: 200 });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { ...server, url: url(database) };
}

function serverOptions(port: number, settings: PostgresSettings): string[] {
  const ours = [
    "listen_addresses=127.0.0.1",
    // No sockets: the server's user may be unable to write to their directory.
    "unix_socket_directories=",
    `port=${port}`,
    "max_connections=100",
    "shared_buffers=64MB",
    "password_encryption=scram-sha-256",
    "log_line_prefix=",
    "timezone=UTC",
  ];
  return [...ours, ...(settings.options ?? [])].flatMap((option) => ["-c", option]);
}

function launch(command: string[], runAs: RunAs): ChildProcess {
  const [file = "", ...args] = [...runAs.prefix, ...command];
  return spawn(file, args, {
    ...spawnIdentity(runAs),
    env: postgresEnvironment,
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
}

/** After a kill -9 of the main process its children need a moment to notice and exit. */
function isMemoryInUse(lastOutput: string): boolean {
  return lastOutput.includes("pre-existing shared memory block");
}

/** SQLSTATE: the password is wrong, so waiting doesn't help. */
const invalidPassword = "28P01";

async function canConnect(url: string): Promise<boolean> {
  try {
    return await withClient(url, async () => true);
  } catch (error) {
    if ((error as { code?: string }).code !== invalidPassword) return false;
    throw new Error(
      "the embedded Postgres was set up with another password than credentials.json has; " +
        "restore that file from a backup",
    );
  }
}

async function createDatabase(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const query = "SELECT 1 FROM pg_database WHERE datname = $1";
    const { rowCount } = await client.query(query, [database]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
  });
}

async function withClient<T>(url: string, action: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 30_000,
  });
  client.on("error", () => {});
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
  }
}
