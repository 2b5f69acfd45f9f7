/**
 * Connections that may run through a pooler such as PgBouncer, which lends a server for one transaction
 * at a time: what is set, prepared, locked or listened to on the server is then somebody else's.
 */
import type pg from "pg";

/** Those that run through a pooler. */
const pooled = new WeakSet<object>();

export function isPooled(client: pg.ClientBase): boolean {
  return pooled.has(client);
}

/**
 * Makes a new connection fit for what is between: statements end after `statementTimeoutMs` where that
 * can be set for good, and keep their names where the server does. A pooler is known by this: it
 * has told another process id than the server's own. Nothing goes into the startup message, whose
 * parameters a pooler refuses.
 */
export async function prepareConnection(
  client: pg.ClientBase,
  { statementTimeoutMs }: { statementTimeoutMs: number },
): Promise<void> {
  const { rows } = await client.query<{ isDirect: boolean }>(
    `SELECT pg_backend_pid() = $1 AS "isDirect",
       set_config('statement_timeout', $2, pg_backend_pid() <> $1)`,
    [toldProcessId(client), String(statementTimeoutMs)],
  );
  if (rows[0]?.isDirect === true) return;
  pooled.add(client);
  forgetNames(client);
}

function toldProcessId(client: pg.ClientBase): number {
  return (client as unknown as { processID: number | null }).processID ?? -1;
}

/** Begins a transaction with the time limit that a pooled connection cannot keep. */
export function beginStatement(client: pg.ClientBase, statementTimeoutMs: number): string {
  return isPooled(client) ? `BEGIN; SET LOCAL statement_timeout = ${statementTimeoutMs}` : "BEGIN";
}

/** A name that one server knows is nothing to the next. */
function forgetNames(client: pg.ClientBase): void {
  type Query = (...given: unknown[]) => unknown;
  const query = client.query.bind(client) as Query;
  const nameless: Query = (config, ...rest) =>
    query(isNamed(config) ? { ...config, name: undefined } : config, ...rest);
  client.query = nameless as typeof client.query;
}

function isNamed(config: unknown): config is { name: string } {
  return typeof config === "object" && config !== null && "name" in config && "text" in config;
}
