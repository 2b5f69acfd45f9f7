/** One file of the spool: records one after the other, each a line of JSON and the batch's bytes. */
import { type FileHandle, open, readFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { type Batch, recordedTables } from "./batch.ts";

export type Segment = {
  path: string;
  number: number;
  /** Up to here the records are whole, in bytes. */
  length: number;
  /** In records that wait to be stored. */
  rows: number;
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

/** A new, empty segment, open for writing and reading. */
export async function createSegment(path: string, number: number): Promise<Segment> {
  const file = await open(path, "wx+", 0o600);
  return { path, number, length: 0, rows: 0, file };
}

/** Appends a record and waits for the disk. When it throws, the segment is as it was before. */
export async function writeRecord(segment: Segment, batch: Batch): Promise<void> {
  const { token, table, rows, body } = batch;
  const header: Header = { token, table, rows, bytes: body.length, crc: crc32(body) };
  const record = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
  segment.file ??= await open(segment.path, "r+");
  try {
    await writeAll(segment.file, record, segment.length);
    await segment.file.datasync();
  } catch (error) {
    // What was written of it is overwritten by the next record, and never read.
    await segment.file.truncate(segment.length).catch(() => undefined);
    throw error;
  }
  segment.length += record.length;
  segment.rows += rows;
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
  segment.file ??= await open(segment.path, "r+");
  const start = Buffer.alloc(Math.min(maxHeaderBytes, segment.length - offset));
  await segment.file.read(start, 0, start.length, offset);
  const header = parseHeader(start, 0);
  if (header === undefined) throw new Error(`no record at ${offset} of ${segment.path}`);
  const bodyStart = offset + header.length;
  const body = Buffer.alloc(header.value.bytes);
  await segment.file.read(body, 0, body.length, bodyStart);
  const { token, table, rows } = header.value;
  return { batch: { token, table, rows, body } satisfies Batch, end: bodyStart + body.length };
}

/** Looks through a segment of an earlier run, from an offset on, for the records that are whole. */
export async function scanSegment(path: string, number: number, from: number) {
  const bytes = await readFile(path);
  let length = Math.min(from, bytes.length);
  let rows = 0;
  for (;;) {
    const record = wholeRecord(bytes, length);
    if (record === undefined) break;
    length = record.end;
    rows += record.rows;
  }
  const segment: Segment = { path, number, length, rows, file: undefined };
  return { segment, damagedBytes: bytes.length - length };
}

function wholeRecord(bytes: Buffer, offset: number): { end: number; rows: number } | undefined {
  const header = parseHeader(bytes, offset);
  if (header === undefined) return undefined;
  const bodyStart = offset + header.length;
  const end = bodyStart + header.value.bytes;
  const body = bytes.subarray(bodyStart, end);
  const isWhole = end <= bytes.length && crc32(body) === header.value.crc;
  return isWhole ? { end, rows: header.value.rows } : undefined;
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
