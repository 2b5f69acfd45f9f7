/** Rows on their way to the store: many at once, as the bytes that the store reads. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** The tables that take rows; everything else is derived from them by the store. */
export const recordedTables = ["key_verifications_v1", "ratelimits_v1"] as const;
export type RecordedTable = (typeof recordedTables)[number];

export type Batch = {
  /** Sent with the batch, each time it is sent: the store counts a batch with the same token once. */
  token: string;
  table: RecordedTable;
  rows: number;
  /** One JSON object per line. */
  body: Buffer;
};

/** How many rows a batch has at most. The same over versions: a batch's token depends on where it begins. */
const rowsPerBatch = 5_000;

/** How many rows are put together in one go: well below a millisecond of the event loop. */
const rowsPerTurn = 1_000;

/** The batches of rows that were taken together; `id` makes each of their tokens. */
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

/** Without holding the event loop for long. */
async function joinLines(lines: readonly string[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let start = 0; start < lines.length; start += rowsPerTurn) {
    if (start > 0) await nextTurn();
    parts.push(Buffer.from(`${lines.slice(start, start + rowsPerTurn).join("\n")}\n`));
  }
  return Buffer.concat(parts);
}

/** A line of JSON. A row may have what the store refuses, and with it the batch, whose other rows are other people's. */
export function encodeRow(row: object): string {
  const line = JSON.stringify(row);
  return suspect.test(line) ? JSON.stringify(row, (_, value) => mend(value)) : line;
}

/** Half of a surrogate pair, which is written as an escape; a number of 19 digits or an exponent. */
const suspect = /\\ud|\d{19}|\de\+/;

/** The largest double that Int64 holds. */
const int64Max = 2 ** 63 - 1_024;

function mend(value: unknown): unknown {
  if (typeof value === "number") return Math.min(value, int64Max);
  return typeof value === "string" ? value.toWellFormed() : value;
}
