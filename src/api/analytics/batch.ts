/** Batches of rows for the store, encoded as the store reads them. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** The tables that take rows; everything else is derived from them by the store. */
export const recordedTables = ["key_verifications_v1", "ratelimits_v1"] as const;
export type RecordedTable = (typeof recordedTables)[number];

export type Batch = {
  /** Deduplication token, the same at each retry: the store counts a batch with the same token once. */
  token: string;
  table: RecordedTable;
  rows: number;
  /** One JSON object per line. */
  body: Buffer;
};

/** The maximum of rows in a batch. Must not change between versions: a batch's token contains its start. */
const rowsPerBatch = 5_000;

/** Rows joined in one turn of the event loop: well below a millisecond. */
const rowsPerTurn = 1_000;

/** Divides rows into batches; `id` is part of each token. */
export async function* batchesOf(
  id: string,
  lines: Record<RecordedTable, readonly string[]>,
): AsyncGenerator<Batch> {
  for (const table of recordedTables) {
    for (let start = 0; start < lines[table].length; start += rowsPerBatch) {
      const rows = lines[table].slice(start, start + rowsPerBatch);
      yield {
        token: `${id}-${table}-${start}`,
        table,
        rows: rows.length,
        body: await joinLines(rows),
      };
    }
  }
}

/** Yields to the event loop between parts. */
async function joinLines(lines: readonly string[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let start = 0; start < lines.length; start += rowsPerTurn) {
    if (start > 0) await nextTurn();
    parts.push(Buffer.from(`${lines.slice(start, start + rowsPerTurn).join("\n")}\n`));
  }
  return Buffer.concat(parts);
}

/**
 * A row as a line of JSON. Values that the store would refuse are replaced, since it would refuse the whole
 * batch with the rows of other callers.
 */
export function encodeRow(row: object): string {
  const line = JSON.stringify(row);
  return suspect.test(line) ? JSON.stringify(row, (_, value) => toStorable(value)) : line;
}

/** Half a surrogate pair, which JSON writes as an escape; a number of 19 digits or with an exponent. */
const suspect = /\\ud|\d{19}|\de\+/;

/** The largest double that Int64 holds. */
const int64Max = 2 ** 63 - 1_024;

function toStorable(value: unknown): unknown {
  if (typeof value === "number") return Math.min(value, int64Max);
  return typeof value === "string" ? value.toWellFormed() : value;
}
