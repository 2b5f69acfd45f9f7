/** One file of the spool: a sequence of records, each a header line of JSON and the batch's bytes. */
import { type FileHandle, open, readFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { type Batch, recordedTables, verificationsIn } from "#api/analytics/batch.ts";
import { invariant } from "#kernel/problem.ts";

export type Segment = {
  path: string;
  number: number;
  /** End of its last complete record, in bytes. */
  length: number;
  /** Damaged ranges that are followed by complete records: start to end. */
  gaps: ReadonlyMap<number, number>;
  /** Number of rows in records that are not stored yet. */
  rows: number;
  /** How many of them are verifications. */
  verifications: number;
  /** Open for reading and writing in segments of this run; in earlier ones for reading, from the first read on. */
  file: FileHandle | undefined;
};

const Header = z.strictObject({
  token: z.string(),
  table: z.enum(recordedTables),
  rows: z.int().min(0),
  bytes: z.int().min(0),
  crc: z.int(),
});
type Header = z.infer<typeof Header>;

const maxHeaderBytes = 512;

export async function createSegment(path: string, number: number): Promise<Segment> {
  const file = await open(path, "wx+", 0o600);
  return { path, number, length: 0, gaps: new Map(), rows: 0, verifications: 0, file };
}

/** Appends a record and waits for the disk. When it throws, the segment is as it was before. */
export async function writeRecord(segment: Segment, batch: Batch): Promise<void> {
  const { token, table, rows, body } = batch;
  const header: Header = { token, table, rows, bytes: body.length, crc: crc32(body) };
  const record = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
  const { file } = segment;
  invariant(file !== undefined, "only a segment that this run has made is written to");
  try {
    await writeAll(file, record, segment.length);
    await file.datasync();
  } catch (error) {
    // The next record overwrites the partial one, which is never read.
    await file.truncate(segment.length).catch(() => undefined);
    throw error;
  }
  segment.length += record.length;
  segment.rows += rows;
  segment.verifications += verificationsIn(batch);
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const rest = bytes.length - written;
    written += (await file.write(bytes, written, rest, position + written)).bytesWritten;
  }
}

/** The record at an offset, and where it ends. Throws when the file no longer holds it. */
export async function readRecord(segment: Segment, offset: number) {
  segment.file ??= await open(segment.path, "r");
  const start = Buffer.alloc(Math.min(maxHeaderBytes, segment.length - offset));
  await segment.file.read(start, 0, start.length, offset);
  const header = parseHeader(start, 0);
  if (header === undefined) throw new Error(`no record at ${offset} of ${segment.path}`);
  const { token, table, rows, bytes, crc } = header.value;
  const bodyStart = offset + header.length;
  if (bodyStart + bytes > segment.length) throw new Error(`no end of the record at ${offset}`);
  const body = Buffer.alloc(bytes);
  await segment.file.read(body, 0, body.length, bodyStart);
  if (crc32(body) !== crc) throw new Error(`the record at ${offset} has changed`);
  return { batch: { token, table, rows, body } satisfies Batch, end: bodyStart + body.length };
}

/** Scans an earlier run's segment for complete records, from an offset; from its start if the file ends before that. */
export async function scanSegment(path: string, number: number, offset: number) {
  const bytes = await readFile(path);
  const from = offset <= bytes.length ? offset : 0;
  const gaps = new Map<number, number>();
  let length = from;
  let rows = 0;
  let verifications = 0;
  let damagedBytes = 0;
  for (;;) {
    const record = wholeRecord(bytes, length) ?? nextWholeRecord(bytes, length);
    if (record === undefined) break;
    if (record.start > length) gaps.set(length, record.start);
    damagedBytes += record.start - length;
    length = record.end;
    rows += record.rows;
    verifications += verificationsIn(record);
  }
  damagedBytes += bytes.length - length;
  const segment: Segment = { path, number, length, gaps, rows, verifications, file: undefined };
  return { segment, from, damagedBytes };
}

type WholeRecord = { start: number; end: number } & Pick<Header, "table" | "rows">;

/** The start of every record; it cannot occur inside of one, as quotes in rows are escaped. */
const recordStart = '{"token":"';

function nextWholeRecord(bytes: Buffer, after: number): WholeRecord | undefined {
  let start = bytes.indexOf(recordStart, after + 1);
  while (start >= 0) {
    const record = wholeRecord(bytes, start);
    if (record !== undefined) return record;
    start = bytes.indexOf(recordStart, start + 1);
  }
  return undefined;
}

function wholeRecord(bytes: Buffer, start: number): WholeRecord | undefined {
  const header = parseHeader(bytes, start);
  if (header === undefined) return undefined;
  const bodyStart = start + header.length;
  const end = bodyStart + header.value.bytes;
  const body = bytes.subarray(bodyStart, end);
  const isWhole = end <= bytes.length && crc32(body) === header.value.crc;
  return isWhole ? { ...header.value, start, end } : undefined;
}

function parseHeader(bytes: Buffer, offset: number): { value: Header; length: number } | undefined {
  const end = bytes.subarray(offset, offset + maxHeaderBytes).indexOf("\n");
  if (end < 0) return undefined;
  try {
    const parsed = Header.safeParse(JSON.parse(bytes.toString("utf8", offset, offset + end)));
    return parsed.success ? { value: parsed.data, length: end + 1 } : undefined;
  } catch {
    return undefined;
  }
}
