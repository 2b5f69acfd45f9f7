/** The part of ClickHouse's HTTP interface that our client uses. */
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

export type StatementRequest = {
  sql: string;
  insert: { table: string; format: "JSONEachRow" } | undefined;
  body: Buffer;
  settings: Record<string, string>;
};

/** The maximum length of a statement: a query may name tables often, each with some thousand key spaces. */
export const maxStatementBytes = 16 * 1024 * 1024;

/** Queries that the embedded store runs at the same time. */
export const readerCount = 3;

/** Parameters of the request, which are not settings of the statement. */
const transport = new Set([
  "query",
  "query_id",
  "database",
  "session_id",
  "role",
  "default_format",
  "wait_end_of_query",
  "send_progress_in_http_headers",
  "enable_http_compression",
]);

const insertPattern = /^INSERT INTO ([\w.]+) FORMAT JSONEachRow$/;

export async function readRequest(request: IncomingMessage): Promise<StatementRequest> {
  const { searchParams } = new URL(request.url ?? "/", "http://localhost");
  const settings = Object.fromEntries(
    [...searchParams].filter(([name]) => !transport.has(name) && /^\w+$/.test(name)),
  );
  const query = searchParams.get("query");
  const table = insertPattern.exec(query ?? "")?.[1];
  if (query === null || table === undefined) {
    const sql = query ?? (await text(request));
    return { sql, insert: undefined, body: Buffer.alloc(0), settings };
  }
  const body = Buffer.concat(await request.toArray());
  return { sql: query, insert: { table, format: "JSONEachRow" }, body, settings };
}

/** The statement with its settings; the library takes them in no other way. */
export function withSettings({ sql, settings }: StatementRequest): string {
  const pairs = Object.entries(settings).map(([name, value]) => `${name} = ${literal(value)}`);
  return pairs.length === 0 ? sql : `${sql}\nSETTINGS ${pairs.join(", ")}`;
}

function literal(value: string): string {
  const isPlain = /^\d+$/.test(value) || value.startsWith("{");
  return isPlain ? value : `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Returns after how many milliseconds a statement is certainly stuck. */
export function hardLimitMs({ settings }: StatementRequest): number {
  const limit = Number(settings["max_execution_time"] ?? 0);
  return limit > 0 ? (limit + 5) * 1_000 : 10 * 60_000;
}
