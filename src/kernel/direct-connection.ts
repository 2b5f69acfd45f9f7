/** One connection to Postgres itself, for what a pooler that lends servers by transaction cannot carry. */
import pRetry from "p-retry";
import pg from "pg";
import { isPooled, prepareConnection } from "./pooler.ts";

const connectTimeoutMs = 10_000;
const attempts = 3;

export type DirectSettings = {
  /** What Postgres tells of the connection: 63 characters at most. */
  applicationName: string;
  /** Of every statement; absent: none. */
  queryTimeoutMs?: number;
  /** Whether `url` may be a pooler's: the operator says that it lends a server for a session. */
  mayBePooled: boolean;
  /** Aborted when it is no longer wanted. */
  signal?: AbortSignal;
};

/** Throws when there is no server, and what to set when `url` is a pooler's and may not be. */
export async function connectDirectly(url: string, settings: DirectSettings): Promise<pg.Client> {
  const client = await pRetry(() => connect(url, settings), {
    retries: attempts - 1,
    minTimeout: 200,
    ...(settings.signal !== undefined && { signal: settings.signal }),
    // A server that is busy; one that is not there, or refuses, is said at once.
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
  // The statement that runs, or the next one, fails by itself.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Locks of a session are nothing to a pooler that lends servers for a transaction at a time. */
function poolerFound(): Error {
  return new Error(
    "database.url leads to a connection pooler: set database.direct_url to the Postgres behind it, " +
      "for migrations, notifications and locks",
  );
}
