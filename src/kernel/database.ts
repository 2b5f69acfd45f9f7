import { runner } from "node-pg-migrate";
import pg from "pg";
import { connectDirectly } from "./direct-connection.ts";
import type { Log } from "./log.ts";
import { beginStatement, isPooled, prepareConnection } from "./pooler.ts";
import { migrationsDir, migrationsTable, refuseNewerSchema } from "./schema-version.ts";
import { refuseInvalidTimes } from "./valid-times.ts";

export type Database = pg.Pool;

/** Every statement ends after this long, so that a stuck server is an error and not a silence. */
const statementTimeoutMs = 30_000;
const connectTimeoutMs = 30_000;
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
 * Brings the schema to the newest of `migrations/`: numbered SQL files, forward only, each that has not run
 * yet, in the order of their numbers. Of several processes that start together one does it, and the others
 * wait for it. Throws when a newer version has migrated it further than this one knows, and when `url` is a
 * pooler's, unless that may be.
 */
export async function migrate(
  url: string,
  log: Log,
  { mayBePooled = false }: { mayBePooled?: boolean } = {},
): Promise<void> {
  const client = await connectDirectly(url, {
    applicationName: "vedette migrations",
    mayBePooled,
  });
  try {
    if (isPooled(client)) {
      log.warn(
        "database.direct_url leads to a connection pooler: it must lend a server for a session",
      );
    }
    await client.query(`SET lock_timeout = ${lockTimeoutMs}`);
    await refuseNewerSchema(client);
    await runMigrations(client, log);
  } finally {
    await client.end();
  }
}

async function runMigrations(dbClient: pg.Client, log: Log): Promise<void> {
  await runner({
    dbClient,
    advisoryLockMode: "wait",
    dir: migrationsDir,
    direction: "up",
    migrationsTable,
    // Those of branches that were joined later have lower numbers than some that have run already.
    checkOrder: false,
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
