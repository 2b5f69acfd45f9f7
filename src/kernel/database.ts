/** Opens pools of connections to Postgres, migrates its schema, and runs transactions. */
import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { ClientBase, Pool } from "pg";
import pg from "pg";
import {
  beginStatement,
  Client,
  connectDirectly,
  endClient,
  isPooled,
  prepareConnection,
} from "./database-connection.ts";
import { createHangWatch } from "./hang-watch.ts";
import type { Log } from "./log.ts";
import { someOf } from "./text.ts";

export const migrationsDir = fileURLToPath(new URL("../../migrations", import.meta.url));

export const migrationsTable = "schema_migrations";

/** Names without `.sql`. `unknown`: run by a newer version; `missing`: not run yet. */
export function compareSchema(of: { run: readonly string[]; known: readonly string[] }) {
  const run = new Set(of.run);
  const known = new Set(of.known);
  return {
    unknown: of.run.filter((name) => !known.has(name)),
    missing: of.known.filter((name) => !run.has(name)),
  };
}

/** Names of migrations that have not run. Throws what to do when a newer version has migrated the database. */
export async function readMissingMigrations(
  connection: ClientBase | Pool,
  dir = migrationsDir,
): Promise<readonly string[]> {
  const { unknown, missing } = await readSchema(connection, dir);
  if (unknown.length === 0) return missing;
  throw new Error(
    `the database was migrated by a newer Vedette (${someOf(unknown, 3)}), which this one does not know: ` +
      "start that version, or restore the backup from before its start",
  );
}

/** Like `readMissingMigrations`; also throws when there are any. */
export async function requireKnownSchema(connection: ClientBase | Pool): Promise<void> {
  const missing = await readMissingMigrations(connection);
  if (missing.length === 0) return;
  throw new Error(
    `the database is that of an older Vedette (${someOf(missing, 3)} not run): start this version first`,
  );
}

async function readSchema(connection: ClientBase | Pool, dir: string) {
  const known = readdirSync(dir)
    .filter((name) => name.endsWith(".sql"))
    .map((name) => name.slice(0, -".sql".length))
    .sort();
  const { rows: tables } = await connection.query<{ there: boolean }>(
    "SELECT to_regclass($1) IS NOT NULL AS there",
    [migrationsTable],
  );
  if (tables[0]?.there !== true) return compareSchema({ run: [], known });
  const { rows } = await connection.query<{ name: string }>(
    `SELECT name FROM ${migrationsTable} ORDER BY id`,
  );
  return compareSchema({ run: rows.map(({ name }) => name), known });
}

export type Database = pg.Pool;

export type Queries = Pick<Database, "query">;

/** The timeout of every statement, so that a stuck server causes an error. */
const statementTimeoutMs = 30_000;
const connectTimeoutMs = 30_000;
/** Limit of the wait while another process migrates. */
const lockTimeoutMs = 300_000;

/** The connections of a pool, if nothing else is said. */
const usualConnections = 10;

/**
 * A connection pool for `url` (postgres://…), which may be that of a pooler. Idle connections that break
 * are replaced; they cause no error. While the server hangs every query fails with a `HungError`, those that wait
 * within seconds: their connections are closed, so that a transaction that was not committed never is.
 */
export function openDatabase(
  url: string,
  log: Log,
  max = usualConnections,
  lockTimeoutMs = 0,
): Database {
  const pool = new pg.Pool({
    Client,
    connectionString: url,
    max,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs + 5_000,
    application_name: "vedette",
    onConnect: (client) => prepareConnection(client, { statementTimeoutMs, lockTimeoutMs }),
  });
  // The pool handles errors of idle connections only; one of another would end the process.
  pool.on("connect", (client) => {
    client.on("error", ignoreLoss);
    refuseInvalidTimes(client);
  });
  pool.on("error", (error) => {
    if (!pool.ending) log.warn({ detail: error.message }, "database connection lost");
  });
  watchForHangs(pool, url);
  return pool;
}

function watchForHangs(pool: Database, url: string): void {
  const clients = new Set<pg.PoolClient>();
  let removedBytes = 0;
  const waits = new WeakMap<pg.PoolClient, () => void>();
  const watch = createHangWatch({
    server: "the database",
    askForSign: (signal) => askForSign(url, signal),
    // A new connection to a busy pooler or machine may wait longer than those at work.
    countAnswers: () =>
      [...clients].reduce((bytes, client) => bytes + streamOf(client).bytesRead, removedBytes),
    onHung: (error) => {
      // Idle ones too: whoever used one of them next would wait again.
      for (const client of clients) streamOf(client).destroy(error);
    },
  });
  pool.on("connect", (client) => clients.add(client));
  pool.on("remove", (client) => {
    removedBytes += streamOf(client).bytesRead;
    clients.delete(client);
  });
  pool.on("acquire", (client) => waits.set(client, watch.waitFor(ignoreLoss)));
  pool.on("release", (_, client) => waits.get(client)?.());
  const end = pool.end.bind(pool) as () => Promise<void>;
  pool.end = () => {
    watch.close();
    return end();
  };
  const open = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  // One that comes too late is given back unused: nobody waits for what it would be asked.
  const connect = () => watch.run(open, (client) => client.release());
  // `pool.query` calls it too, with a callback.
  const either = (done?: Connected) =>
    done === undefined
      ? connect()
      : void connect().then(
          (client) => done(undefined, client, client.release),
          (error: Error) => done(error, undefined, ignoreLoss),
        );
  pool.connect = either as Database["connect"];
}

type Connected = Parameters<Database["connect"]>[0];

async function askForSign(url: string, signal: AbortSignal): Promise<void> {
  const client = new Client({ connectionString: url, application_name: "vedette sign of life" });
  client.on("error", ignoreLoss);
  signal.addEventListener("abort", () => void endClient(client));
  await client.connect();
  await client.query("SELECT 1");
}

/**
 * Runs the SQL files of `migrations/` that have not run yet, in the order of their numbers; they go forward
 * only. When several processes start together, one migrates and the others wait for it. Throws when a
 * newer version has run migrations that this one doesn't have, and when `url` is a pooler's, unless
 * `mayBePooled`. Returns the names of those that it has run.
 */
export async function migrate(
  url: string,
  log: Log,
  { mayBePooled = false, dir = migrationsDir }: { mayBePooled?: boolean; dir?: string } = {},
): Promise<string[]> {
  const client = await connectDirectly(url, { applicationName: "vedette migrations", mayBePooled });
  try {
    if (isPooled(client)) {
      log.warn(
        "database.direct_url leads to a connection pooler: it must pool by session, not by transaction",
      );
    }
    const missing = await readMissingMigrations(client, dir);
    return missing.length === 0 ? [] : await runMigrations(client, log, dir);
  } finally {
    await endClient(client);
  }
}

async function runMigrations(dbClient: pg.Client, log: Log, dir: string): Promise<string[]> {
  // Loaded only when there are any: most starts find none.
  const { runner } = await import("node-pg-migrate");
  await dbClient.query(`SET lock_timeout = ${lockTimeoutMs}`);
  const run = await runner({
    dbClient,
    advisoryLockMode: "wait",
    dir,
    direction: "up",
    migrationsTable,
    // Migrations of branches that were merged later may have lower numbers than some that have run.
    checkOrder: false,
    logger: {
      debug: () => {},
      info: () => {},
      warn: (message) => log.warn({ detail: message }, "migration warning"),
      error: (message) => log.error({ detail: message }, "migration failed"),
    },
  });
  return run.map(({ name }) => name);
}

/** Commits when `work` returns, rolls back when it throws. A connection whose rollback fails is closed. */
export async function inTransaction<Result>(
  database: Database,
  work: (transaction: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await database.connect();
  let broken = true;
  try {
    await client.query(beginStatement(client, statementTimeoutMs));
    const result = await work(client);
    await client.query("COMMIT");
    broken = false;
    return result;
  } catch (error) {
    await client.query("ROLLBACK").then(
      () => {
        broken = false;
      },
      () => {},
    );
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Reads in one transaction: all that `read` asks is of the same moment. Writes fail. */
export function inSnapshot<Result>(
  database: Database,
  read: (snapshot: Queries) => Promise<Result>,
): Promise<Result> {
  return inTransaction(database, async (transaction) => {
    await transaction.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    return read(transaction as Queries);
  });
}

function streamOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** Nothing to do here: the running statement, or the next one, fails with this error. */
function ignoreLoss(): void {}

type Query = (...args: unknown[]) => unknown;

/** Refuses invalid `Date`s by a RangeError: pg would send them as text. The connection remains usable. */
export function refuseInvalidTimes(client: ClientBase): void {
  const send = client.query.bind(client) as Query;
  const query: Query = (...args) => {
    if (!valuesOf(args).some(isInvalidTime)) return send(...args);
    const error = new RangeError("an invalid time is not sent to the database");
    const callback = args.findLast((arg) => typeof arg === "function");
    if (callback === undefined) return Promise.reject(error);
    queueMicrotask(() => callback(error));
    return undefined;
  };
  Object.assign(client, { query });
}

/** The values are an argument of their own, or part of a query object. */
function valuesOf([query, values]: unknown[]): unknown[] {
  if (Array.isArray(values)) return values;
  const { values: within } = (query ?? {}) as { values?: unknown };
  return Array.isArray(within) ? within : [];
}

function isInvalidTime(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isInvalidTime);
  return value instanceof Date && Number.isNaN(value.getTime());
}
