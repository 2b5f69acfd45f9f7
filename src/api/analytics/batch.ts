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

export function verificationsIn({ table, rows }: Pick<Batch, "table" | "rows">): number {
  return table === "key_verifications_v1" ? rows : 0;
}

/**
 * Some rows of one table, one JSON object per line. One text instead of one for each row, and no bytes:
 * chunks are kept for a second, and both would cost the garbage collector more than all else here.
 */
export type Chunk = { rows: number; text: string };

/** Chunks of each table, in the order of their rows. */
export type Chunks = Record<RecordedTable, readonly Chunk[]>;

/** The maximum of rows in a batch. Must not change between versions: a batch's token contains its start. */
const rowsPerBatch = 5_000;

export function chunkOf(lines: readonly string[]): Chunk {
  return { rows: lines.length, text: lines.join("\n") };
}

/** Values that the store would refuse are replaced, since it would refuse the whole batch with the rows of other callers. */
export function encodeChunk(rows: readonly object[]): Chunk {
  const text = encodeUsual(rows) ?? rows.map((row) => encodeRow(row)).join("\n");
  return { rows: rows.length, text };
}

/** Divides rows into batches; `id` is part of each token. */
export function* batchesOf(id: string, chunks: Chunks): Generator<Batch> {
  for (const table of recordedTables) {
    let start = 0;
    for (const { rows, text } of fullChunksOf(chunks[table])) {
      const body = Buffer.from(`${text}\n`);
      yield { token: `${id}-${table}-${start}`, table, rows, body };
      start += rows;
    }
  }
}

/** The same rows in chunks of as many as a batch holds; the last one may have fewer. */
function* fullChunksOf(chunks: readonly Chunk[]): Generator<Chunk> {
  let parts: string[] = [];
  let rows = 0;
  for (const chunk of chunks) {
    let rest = chunk;
    while (rows + rest.rows >= rowsPerBatch) {
      const [head, tail] = splitChunk(rest, rowsPerBatch - rows);
      yield { rows: rowsPerBatch, text: [...parts, head.text].join("\n") };
      [parts, rows, rest] = [[], 0, tail];
    }
    if (rest.rows > 0) parts.push(rest.text);
    rows += rest.rows;
  }
  if (rows > 0) yield { rows, text: parts.join("\n") };
}

function splitChunk(chunk: Chunk, rows: number): [Chunk, Chunk] {
  if (chunk.rows === rows) return [chunk, { rows: 0, text: "" }];
  let end = -1;
  for (let row = 0; row < rows; row += 1) end = chunk.text.indexOf("\n", end + 1);
  return [
    { rows, text: chunk.text.slice(0, end) },
    { rows: chunk.rows - rows, text: chunk.text.slice(end + 1) },
  ];
}

/** All rows in one go, in a quarter of the time. undefined: something has to be replaced, or a row's end is not sure. */
function encodeUsual(rows: readonly object[]): string | undefined {
  if (rows.some(hasLargeNumber)) return undefined;
  const json = JSON.stringify(rows);
  if (json.includes(loneSurrogate)) return undefined;
  const lines = json.slice(1, -1).split("},{");
  return lines.length === rows.length ? lines.join("}\n{") : undefined;
}

/** Start of half a surrogate pair in JSON. */
const loneSurrogate = "\\ud";

/** Numbers that callers choose, as large as they like. */
type ChosenNumbers = {
  limit?: number;
  remaining?: number;
  tokens?: number;
  spent_credits?: number;
};

function hasLargeNumber({
  limit,
  remaining,
  tokens,
  spent_credits: spent,
}: ChosenNumbers): boolean {
  return isLarge(limit) || isLarge(remaining) || isLarge(tokens) || isLarge(spent);
}

function isLarge(number: number | undefined): boolean {
  return number !== undefined && number > Number.MAX_SAFE_INTEGER;
}

/** A row as a line of JSON, with what the store takes in place of what it would refuse. */
function encodeRow(row: object): string {
  const line = JSON.stringify(row);
  if (!hasLargeNumber(row) && !line.includes(loneSurrogate)) return line;
  return JSON.stringify(row, (_, part) => toStorable(part));
}

/** The largest double that Int64 holds. */
const int64Max = 2 ** 63 - 1_024;

/** Whole numbers never with an exponent, which Int64 does not take. */
function toStorable(value: unknown): unknown {
  if (typeof value === "number") return Math.min(value, int64Max);
  return typeof value === "string" ? value.toWellFormed() : value;
}
