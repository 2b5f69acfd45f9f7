/** Rows on their way to the store: many at once, as the bytes that the store reads. */
import { randomUUID } from "node:crypto";
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

/** How many rows are encoded in one go: about a millisecond of the event loop. */
const rowsPerTurn = 250;

/** Encodes rows without holding the event loop for long. */
export async function encodeBatch(table: RecordedTable, rows: readonly object[]): Promise<Batch> {
  const parts: Buffer[] = [];
  for (let start = 0; start < rows.length; start += rowsPerTurn) {
    if (start > 0) await nextTurn();
    parts.push(encodeLines(rows.slice(start, start + rowsPerTurn)));
  }
  return { token: randomUUID(), table, rows: rows.length, body: Buffer.concat(parts) };
}

function encodeLines(rows: readonly object[]): Buffer {
  return Buffer.from(`${rows.map(encodeRow).join("\n")}\n`);
}

/** A row may have what the store refuses, and with it the batch, whose other rows are other people's. */
function encodeRow(row: object): string {
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
