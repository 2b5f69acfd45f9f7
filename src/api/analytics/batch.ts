/** Batches of rows for the store, encoded as the store reads them. */

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

/** Some rows of one table, one JSON object per line. */
export type Chunk = { rows: number; body: Buffer };

/** Chunks of each table, in the order of their rows. */
export type Chunks = Record<RecordedTable, readonly Chunk[]>;

/** The maximum of rows in a batch. Must not change between versions: a batch's token contains its start. */
const rowsPerBatch = 5_000;

/** Bytes, since strings that are kept for a second cost the garbage collector more than all else here. */
export function chunkOf(lines: readonly string[]): Chunk {
  return { rows: lines.length, body: Buffer.from(`${lines.join("\n")}\n`) };
}

/** Divides rows into batches; `id` is part of each token. */
export function* batchesOf(id: string, chunks: Chunks): Generator<Batch> {
  for (const table of recordedTables) {
    let start = 0;
    for (const { rows, body } of fullChunksOf(chunks[table])) {
      yield { token: `${id}-${table}-${start}`, table, rows, body };
      start += rows;
    }
  }
}

/** The same rows in chunks of as many as a batch holds; the last one may have fewer. */
function* fullChunksOf(chunks: readonly Chunk[]): Generator<Chunk> {
  let parts: Buffer[] = [];
  let rows = 0;
  for (const chunk of chunks) {
    let rest = chunk;
    while (rows + rest.rows >= rowsPerBatch) {
      const [head, tail] = splitChunk(rest, rowsPerBatch - rows);
      yield { rows: rowsPerBatch, body: Buffer.concat([...parts, head.body]) };
      [parts, rows, rest] = [[], 0, tail];
    }
    if (rest.rows > 0) parts.push(rest.body);
    rows += rest.rows;
  }
  if (rows > 0) yield { rows, body: Buffer.concat(parts) };
}

/** The first `rows` rows, and the others. */
function splitChunk({ rows: all, body }: Chunk, rows: number): [Chunk, Chunk] {
  let end = all === rows ? body.length : 0;
  for (let row = 0; row < rows && end < body.length; row += 1) end = body.indexOf("\n", end) + 1;
  return [
    { rows, body: body.subarray(0, end) },
    { rows: all - rows, body: body.subarray(end) },
  ];
}

/**
 * A row as a line of JSON, by hand: `JSON.stringify` takes twice as long for it. Values that the store would
 * refuse are replaced, since it would refuse the whole batch with the rows of other callers.
 */
export function encodeRow<Row extends object>(row: Row): string {
  let line = "";
  for (const name in row) line += `${line === "" ? "{" : ","}"${name}":${encodeValue(row[name])}`;
  return line === "" ? "{}" : `${line}}`;
}

function encodeValue(value: unknown): string {
  if (typeof value === "string") return encodeText(value);
  if (typeof value === "number" && Number.isFinite(value)) return encodeNumber(value);
  return JSON.stringify(value, (_, part) => toStorable(part)) ?? "null";
}

/** Text without anything that JSON escapes, and without half a surrogate pair. */
const plain = /^[ !#-[\]-~]*$/;

function encodeText(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text.toWellFormed());
}

/** The largest double that Int64 holds. */
const int64Max = 2 ** 63 - 1_024;

/** Whole numbers never with an exponent, which Int64 does not take. */
function encodeNumber(number: number): string {
  return String(Math.min(number, int64Max));
}

function toStorable(value: unknown): unknown {
  if (typeof value === "number") return Math.min(value, int64Max);
  return typeof value === "string" ? value.toWellFormed() : value;
}
