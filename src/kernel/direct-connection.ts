/** One direct connection to Postgres, for what doesn't work through a pooler that pools by transaction. */
import pRetry from "p-retry";
import pg from "pg";
import { isPooled, prepareConnection } from "./pooler.ts";

const connectTimeoutMs = 10_000;
const attempts = 3;

export type DirectSettings = {
  /** Shown by Postgres for the connection: at most 63 characters. */
  applicationName: string;
  /** Timeout of every statement; absent: none. */
  queryTimeoutMs?: number;
  /** Whether `url` may be a pooler's: the operator says that it pools by session. */
  mayBePooled: boolean;
  /** Aborted when the connection is no longer needed. */
  signal?: AbortSignal;
};

/** Throws when no server answers; when `url` is a pooler's and may not be, the error says what to set. */
export async function connectDirectly(url: string, settings: DirectSettings): Promise<pg.Client> {
  const client = await pRetry(() => connect(url, settings), {
    retries: attempts - 1,
    minTimeout: 200,
    ...(settings.signal !== undefined && { signal: settings.signal }),
    // Retries while the server is busy. One that is absent or refuses is an error at once.
    shouldRetry: ({ error }) => /timeout/i.test(error.message),
  });
  try {
    await prepareConnection(client, { statementTimeoutMs: 0 });
    if (isPooled(client) && !settings.mayBePooled) throw poolerFound();
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function connect(url: string, settings: DirectSettings): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    ...(settings.queryTimeoutMs !== undefined && { query_timeout: settings.queryTimeoutMs }),
    application_name: settings.applicationName,
  });
  // Nothing to do here: the running statement, or the next one, fails with this error.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** A pooler that pools by transaction doesn't support session locks. */
function poolerFound(): Error {
  return new Error(
    "database.url leads to a connection pooler: set database.direct_url to the Postgres behind it, " +
      "for migrations, notifications and locks",
  );
}
