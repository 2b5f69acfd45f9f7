/** Speaks with one ClickHouse, or what speaks its protocol, over HTTP. */
import { Readable } from "node:stream";
import {
  type ClickHouseClient,
  type ClickHouseSettings,
  createClient,
  type SettingsMap,
} from "@clickhouse/client";
import type { Batch } from "#api/analytics/batch.ts";
import { BatchRefusedError } from "#api/analytics/recording/sender.ts";
import { within } from "#kernel/async.ts";
import { readBody } from "#kernel/body.ts";
import { createHangWatch, type HangWatch } from "#kernel/hang-watch.ts";
import { request } from "#kernel/http.ts";
import { engineError, explainQueryError, isRefusal } from "./engine-error.ts";
import { maxStatementBytes } from "./http-interface.ts";

export type EngineAddress = {
  /** May carry a user, a password and a database. */
  url: string;
  password?: string;
};

export type EngineQuery = {
  sql: string;
  /** The condition that the engine itself adds to each table, by `database.table`. */
  filters: Readonly<Record<string, string>>;
  /** The longest wait for a lane of the store. */
  waitAtMostMs?: number;
};

export type Row = Record<string, unknown>;

export const queryLimits = {
  seconds: 10,
  memoryBytes: 1_000_000_000,
  rowsRead: 5_000_000_000,
  rows: 10_000,
  /** Limit of the answer as JSON. */
  answerBytes: 4 * 1024 * 1024,
} as const;

const insertTimeoutMs = 30_000;

const maxConnections = 16;

/** Connections of the client that serve queries; the rest is for inserts. */
export const queriesAtOnce = 12;

/** `max_result_bytes` counts another encoding than JSON and is generous; the exact limit is checked when the result is read. */
const querySettings: ClickHouseSettings = {
  readonly: "1",
  max_execution_time: queryLimits.seconds,
  timeout_overflow_mode: "throw",
  max_memory_usage: String(queryLimits.memoryBytes),
  max_bytes_before_external_group_by: "0",
  max_bytes_before_external_sort: "0",
  max_rows_to_read: String(queryLimits.rowsRead),
  read_overflow_mode: "throw",
  max_result_rows: String(queryLimits.rows),
  max_result_bytes: String(queryLimits.answerBytes * 4),
  result_overflow_mode: "throw",
  max_query_size: String(maxStatementBytes),
  max_ast_depth: "200",
  max_expanded_ast_elements: "50000",
  wait_end_of_query: 1,
  date_time_output_format: "iso",
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_denormals: 0,
  session_timezone: "UTC",
};

/** A batch is inserted as one block, so that its token covers all of it, in each derived table too. */
const insertSettings: ClickHouseSettings = {
  async_insert: 0,
  wait_end_of_query: 1,
  input_format_parallel_parsing: 0,
  input_format_null_as_default: 1,
  input_format_skip_unknown_fields: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
};

export class EngineClient {
  readonly #client: ClickHouseClient;
  readonly #database: string;
  readonly #hangs: HangWatch;

  constructor(address: EngineAddress, database: string) {
    this.#database = database;
    const { origin } = new URL(address.url);
    this.#hangs = createHangWatch({
      server: "the analytics store",
      askForSign: (signal) => request(origin, { signal }).then(({ body }) => body.dump()),
    });
    this.#client = createClient({
      url: address.url,
      ...(address.password !== undefined && { password: address.password }),
      request_timeout: insertTimeoutMs,
      max_open_connections: maxConnections,
      // The client's own messages would bypass our log.
      log: { level: 127 },
    });
  }

  /** Runs statements without a result. */
  async prepare(statements: readonly string[], signal: AbortSignal): Promise<void> {
    for (const query of statements) {
      await this.#client.command({ query, abort_signal: within(insertTimeoutMs, signal) });
    }
  }

  /** Stores a batch once. Throws `BatchRefusedError` when it never will. */
  async insert(batch: Batch, signal: AbortSignal): Promise<void> {
    try {
      const { stream } = await this.#client.exec({
        query: `INSERT INTO ${this.#database}.${batch.table} FORMAT JSONEachRow`,
        values: Readable.from([batch.body], { objectMode: false }),
        clickhouse_settings: { ...insertSettings, insert_deduplication_token: batch.token },
        abort_signal: within(insertTimeoutMs, signal),
      });
      await stream.resume().toArray();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      throw new BatchRefusedError(`the store refuses rows of ${batch.table}`, { cause: error });
    }
  }

  /** The rows of a query as text, one JSON object per line, within `queryLimits`. Throws `EngineError`. */
  async query({ sql, filters }: EngineQuery, signal: AbortSignal): Promise<string> {
    const giveUp = new AbortController();
    const bounded = within(queryLimits.seconds * 1_000 + 500, signal);
    const read = async () => {
      const { stream } = await this.#client.exec({
        query: `${sql}\nFORMAT JSONEachRow`,
        clickhouse_settings: { ...querySettings, additional_table_filters: filterMap(filters) },
        abort_signal: AbortSignal.any([giveUp.signal, bounded]),
      });
      return collect(stream);
    };
    try {
      return await this.#hangs.run(read);
    } catch (error) {
      giveUp.abort();
      const hasTimedOut = bounded.aborted && !signal.aborted;
      throw hasTimedOut ? engineError("timeout", error) : explainQueryError(error);
    }
  }

  close(): Promise<void> {
    this.#hangs.close();
    return this.#client.close();
  }
}

/** A map as ClickHouse writes it; text in a setting is escaped like any other. */
function filterMap(filters: EngineQuery["filters"]): SettingsMap {
  const pairs = Object.entries(filters).map(
    ([table, condition]) => `${quoteText(table)}: ${quoteText(condition)}`,
  );
  // The client has its own type of map, but would write that without escaping.
  return `{${pairs.join(", ")}}` as unknown as SettingsMap;
}

/** A text literal of ClickHouse. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

async function collect(stream: AsyncIterable<Buffer>): Promise<string> {
  const body = await readBody(stream, queryLimits.answerBytes);
  if (body === undefined) throw engineError("size");
  return body.toString("utf8");
}

/** Parses an answer to a query. Throws `EngineError` when it is none. */
export function parseRows(text: string): Row[] {
  const lines = `[${text
    .split("\n")
    .filter((line) => line !== "")
    .join(",")}]`;
  try {
    // Values are examined one by one only if some may exceed a double's precision.
    const rows = /\d{16}/.test(lines) ? JSON.parse(lines, keepDigits) : JSON.parse(lines);
    return rows as Row[];
  } catch (error) {
    throw explainQueryError(error);
  }
}

/** Preserves the digits of a whole number that a double would round. */
function keepDigits(_key: string, value: unknown, context?: { source: string }): unknown {
  const source = context?.source ?? "";
  const isRounded = typeof value === "number" && !Number.isSafeInteger(value);
  return isRounded && /^-?\d+$/.test(source) ? rawJson(source) : value;
}

/** TypeScript's types do not have it yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => unknown };
