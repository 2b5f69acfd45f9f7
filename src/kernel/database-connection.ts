/** Opens and prepares connections to Postgres, direct ones and those through a pooler. */
import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import pRetry from "p-retry";
import pg from "pg";
import { inTime } from "./async.ts";

/** The clients that are connected through a pooler. */
const pooled = new WeakSet<object>();

/** May run through a pooler such as PgBouncer, where settings, statements, locks and LISTEN affect other clients. */
export function isPooled(client: pg.ClientBase): boolean {
  return pooled.has(client);
}

/**
 * Prepares a new connection: a direct one gets a statement timeout for the session and may name prepared
 * statements, a pooled one may not. A pooler is detected by its startup message, which gives another
 * process id than that of the server. We set nothing in our startup message, because poolers refuse
 * parameters there.
 */
export async function prepareConnection(
  client: pg.ClientBase,
  { statementTimeoutMs, lockTimeoutMs = 0 }: { statementTimeoutMs: number; lockTimeoutMs?: number },
): Promise<void> {
  // A process that is frozen, or whose machine is gone, must not keep the locks of its transaction.
  const settings = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleLimitMs,
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
  };
  const { rows } = await client.query<{ isDirect: boolean }>(
    `SELECT pg_backend_pid() = $1 AS "isDirect", (
       SELECT count(set_config(name, value, pg_backend_pid() <> $1))
       FROM unnest($2::text[], $3::text[]) AS t (name, value))`,
    [startupProcessId(client), Object.keys(settings), Object.values(settings).map(String)],
  );
  if (rows[0]?.isDirect === true) return;
  pooled.add(client);
  removeStatementNames(client);
}

function startupProcessId(client: pg.ClientBase): number {
  return (client as unknown as { processID: number | null }).processID ?? -1;
}

/** Longer than a transaction waits for anything but Postgres. */
const idleLimitMs = 20_000;

/** Begins a transaction; on a pooled connection with the timeouts, which no session has there. */
export function beginStatement(client: pg.ClientBase, statementTimeoutMs: number): string {
  if (!isPooled(client)) return "BEGIN";
  return `BEGIN; SET LOCAL statement_timeout = ${statementTimeoutMs};
    SET LOCAL idle_in_transaction_session_timeout = ${idleLimitMs}`;
}

/** A statement prepared on one server connection does not exist on the next. */
function removeStatementNames(client: pg.ClientBase): void {
  type Query = (...given: unknown[]) => unknown;
  const query = client.query.bind(client) as Query;
  const nameless: Query = (config, ...rest) =>
    query(isNamed(config) ? { ...config, name: undefined } : config, ...rest);
  client.query = nameless as typeof client.query;
}

function isNamed(config: unknown): config is { name: string } {
  return typeof config === "object" && config !== null && "name" in config && "text" in config;
}

// One direct connection to Postgres, for what doesn't work through a pooler that pools by transaction.

const connectTimeoutMs = 10_000;
const attempts = 3;
const endWithinMs = 1_000;

type DirectSettings = {
  /** Shown by Postgres for the connection: at most 63 characters. */
  applicationName: string;
  queryTimeoutMs?: number;
  /** True if the operator says that `url` may be a pooler's that pools by session. */
  mayBePooled: boolean;
  /** Aborted when the connection is no longer needed. */
  signal?: AbortSignal;
};

/** Throws when no server answers; when `url` is a pooler's and may not be, the error says what to set. */
export async function connectDirectly(url: string, settings: DirectSettings): Promise<pg.Client> {
  let client: pg.Client | undefined;
  const connectOnce = async () => {
    client = await connect(url, settings);
    return client;
  };
  try {
    const connected = await pRetry(connectOnce, {
      retries: attempts - 1,
      minTimeout: 200,
      ...(settings.signal !== undefined && { signal: settings.signal }),
      // Retries while the server is busy. One that is absent or refuses is an error at once.
      shouldRetry: ({ error }) => /timeout/i.test(error.message),
    });
    await prepareConnection(connected, { statementTimeoutMs: 0 });
    if (isPooled(connected) && !settings.mayBePooled) throw poolerFound();
    return connected;
  } catch (error) {
    // An attempt during which the signal was aborted is an error, too, although it connected.
    if (client !== undefined) await endClient(client);
    throw error;
  }
}

/** Ends a connection, also when the server no longer answers. */
export async function endClient(client: pg.Client): Promise<void> {
  await inTime(() => client.end(), { limitMs: endWithinMs, otherwise: undefined });
  // Unsent data for a peer that is gone would keep the process alive.
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}

/** As libpq has it, in the query of an address. */
const wantsProof = /[?&]require_auth=scram-sha-256(?:&|$)/;

/** Requires the server to prove that it knows the password: another may have its port, and neither gets it nor is believed. */
export class Client extends pg.Client {
  constructor(settings: pg.ClientConfig = {}) {
    super(settings);
    if (!wantsProof.test(settings.connectionString ?? "")) return;
    type Connection = EventEmitter & { stream: Socket };
    const { connection } = this as unknown as { connection: Connection };
    let isProven = false;
    connection.on("authenticationSASLFinal", () => {
      isProven = true;
    });
    const refuse = () => {
      if (!isProven) connection.stream.destroy(new Error("the server does not know the password"));
    };
    for (const kind of ["CleartextPassword", "MD5Password", "Ok"]) {
      connection.on(`authentication${kind}`, refuse);
    }
  }
}

async function connect(url: string, settings: DirectSettings): Promise<pg.Client> {
  const client = new Client({
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
