import { runner } from "node-pg-migrate";
import pRetry from "p-retry";
import pg from "pg";
import type { Log } from "./log.ts";
import { beginStatement, isPooled, prepareConnection } from "./pooler.ts";
import { migrationsDir, migrationsTable, refuseNewerSchema } from "./schema-version.ts";
import { refuseInvalidTimes } from "./valid-times.ts";

export type Database = pg.Pool;

/** Every statement ends after this long, so that a stuck server is an error and not a silence. */
const statementTimeoutMs = 30_000;
const connectTimeoutMs = 30_000;
const migrationConnects = 3;
/** How long another process may take for its migration. */
const lockTimeoutMs = 300_000;

/**
 * A pool over `url` (postgres://…), which may be that of a pooler. Idle connections that break are
 * replaced, not thrown.
 */
export function openDatabase(url: string, log: Log): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs + 5_000,
    application_name: "vedette",
    onConnect: (client) => prepareConnection(client, { statementTimeoutMs }),
  });
  // The pool listens on idle connections alone; the loss of another would end the process.
  pool.on("connect", (client) => {
    client.on("error", ignoreLoss);
    refuseInvalidTimes(client);
  });
  pool.on("error", (error) => {
    if (!pool.ending) log.warn({ detail: error.message }, "database connection lost");
  });
  return pool;
}

/**
 * Brings the schema to the newest of `migrations/`: numbered SQL files, forward only. Of several
 * processes that start together one does it, and the others wait for it. Throws when a newer version
 * has migrated it further than this one knows, and when `url` is a pooler's, unless that may be.
 */
export async function migrate(
  url: string,
  log: Log,
  { mayBePooled = false }: { mayBePooled?: boolean } = {},
): Promise<void> {
  const client = await pRetry(() => connectToMigrate(url), {
    retries: migrationConnects - 1,
    minTimeout: 200,
    // A server that is busy; one that is not there, or refuses, is said at once.
    shouldRetry: ({ error }) => /timeout/i.test(error.message),
  });
  try {
    await prepareConnection(client, { statementTimeoutMs: 0 });
    if (isPooled(client)) tellPooled(mayBePooled, log);
    await client.query(`SET lock_timeout = ${lockTimeoutMs}`);
    await refuseNewerSchema(client);
    await runMigrations(client, log);
  } finally {
    await client.end();
  }
}

/** Locks of a session are nothing to a pooler that lends servers for a transaction at a time. */
function tellPooled(mayBePooled: boolean, log: Log): void {
  if (!mayBePooled) {
    throw new Error(
      "database.url leads to a connection pooler: set database.direct_url to the Postgres behind it, " +
        "for migrations, notifications and locks",
    );
  }
  log.warn("database.direct_url leads to a connection pooler: it must lend a server for a session");
}

async function connectToMigrate(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs / migrationConnects,
    application_name: "vedette migrations",
  });
  client.on("error", ignoreLoss);
  await client.connect();
  return client;
}

async function runMigrations(dbClient: pg.Client, log: Log): Promise<void> {
  await runner({
    dbClient,
    advisoryLockMode: "wait",
    dir: migrationsDir,
    direction: "up",
    migrationsTable,
    checkOrder: true,
    logger: {
      debug: () => {},
      info: () => {},
      warn: (message) => log.warn({ detail: message }, "migration warning"),
      error: (message) => log.error({ detail: message }, "migration failed"),
    },
  });
}

/**
 * Runs `work` in one transaction on a connection of its own: committed when it returns, rolled back
 * when it throws. A connection that cannot even roll back is thrown away.
 */
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

/** The statement that runs, or the next one, fails by itself. */
function ignoreLoss(): void {}
