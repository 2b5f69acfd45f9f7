/**
 * Connections that may run through a pooler such as PgBouncer, which assigns a server connection for one
 * transaction at a time: settings, prepared statements, locks and LISTEN then affect other clients.
 */
import type pg from "pg";

/** The clients that are connected through a pooler. */
const pooled = new WeakSet<object>();

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
  { statementTimeoutMs }: { statementTimeoutMs: number },
): Promise<void> {
  const { rows } = await client.query<{ isDirect: boolean }>(
    `SELECT pg_backend_pid() = $1 AS "isDirect",
       set_config('statement_timeout', $2, pg_backend_pid() <> $1)`,
    [startupProcessId(client), String(statementTimeoutMs)],
  );
  if (rows[0]?.isDirect === true) return;
  pooled.add(client);
  removeStatementNames(client);
}

function startupProcessId(client: pg.ClientBase): number {
  return (client as unknown as { processID: number | null }).processID ?? -1;
}

/** Begins a transaction; on a pooled connection with the statement timeout, which no session has there. */
export function beginStatement(client: pg.ClientBase, statementTimeoutMs: number): string {
  return isPooled(client) ? `BEGIN; SET LOCAL statement_timeout = ${statementTimeoutMs}` : "BEGIN";
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
