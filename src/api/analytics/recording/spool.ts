/**
 * A queue of batches on disk: append-only segment files, and the position up to which they have been stored.
 * A crash leaves at most a torn record at the end of the last segment, which is skipped; the position may
 * lag behind the last stored batch, whose token makes a repetition harmless.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Batch, verificationsIn } from "#api/analytics/batch.ts";
import { createSegment, readRecord, type Segment, scanSegment, writeRecord } from "./segment.ts";

export type SpoolSettings = {
  dir: string;
  /** The maximum size on disk, in bytes. */
  maxBytes: number;
  /** The size at which a segment is followed by a new one, and removed once it is stored. */
  segmentBytes?: number;
};

/** The spool has reached its limit. */
export class SpoolFullError extends Error {}

/** A segment could not be read, and was skipped. */
export class SpoolDamagedError extends Error {
  lostRows = 0;
}

/** A file, or a part of one, that could not be read at the start and was skipped. */
export type Damage = { file: string; bytes?: number; err?: unknown };

const suffix = ".spool";
const segmentName = /^\d{12}\.spool$/;

/** Opens the spool with the batches of an earlier run. One process at a time. */
export async function openSpool(settings: SpoolSettings): Promise<Spool> {
  await mkdir(settings.dir, { recursive: true, mode: 0o700 });
  return new Spool(settings, await findSegments(settings.dir));
}

/** Calls of `append` must not overlap each other, nor calls of `peek` and `acknowledge`. */
export class Spool {
  readonly #dir: string;
  readonly #maxBytes: number;
  readonly #segmentBytes: number;
  readonly #segments: Segment[];
  /** Bytes of the first segment that have been stored. */
  #offset: number;
  #nextNumber: number;
  /** A segment of this run; earlier ones are not written to: they may end in a torn record. */
  #writing: Segment | undefined;
  #peeked: { batch: Batch; end: number } | undefined;
  readonly damaged: readonly Damage[];
  #verifiedAtMs: number;

  constructor(settings: SpoolSettings, found: SpoolState) {
    this.#dir = settings.dir;
    this.#maxBytes = settings.maxBytes;
    this.#segmentBytes = settings.segmentBytes ?? 8 * 1024 * 1024;
    this.#segments = found.segments;
    this.#offset = found.offset;
    this.#nextNumber = found.nextNumber;
    this.damaged = found.damaged;
    this.#verifiedAtMs = found.verifiedAtMs;
  }

  /** Unix ms when verifications were last stored, in this run or an earlier one; 0: they never were. */
  verifiedAtMs(): number {
    return this.#verifiedAtMs;
  }

  /** Rows that are not stored yet. */
  rows(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.rows, 0);
  }

  /** Counts the verifications among the rows. */
  verifications(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.verifications, 0);
  }

  /** Bytes on disk. */
  bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.length, 0);
  }

  /** Resolves once the batch is on disk. Throws when the spool or the disk is full. */
  async append(batch: Batch): Promise<void> {
    if (this.bytes() + batch.body.length > this.#maxBytes) {
      throw new SpoolFullError(`the spool has reached its limit of ${this.#maxBytes} bytes`);
    }
    await writeRecord(await this.#segmentForWriting(), batch);
  }

  /** The oldest batch that is not stored, if any. Throws `SpoolDamagedError`, or another error for want of resources. */
  async peek(): Promise<Batch | undefined> {
    if (this.#peeked !== undefined) return this.#peeked.batch;
    await this.#leaveFinished();
    const segment = this.#segments[0];
    if (segment === undefined || this.#offset >= segment.length) return undefined;
    this.#offset = segment.gaps.get(this.#offset) ?? this.#offset;
    try {
      this.#peeked = await readRecord(segment, this.#offset);
    } catch (error) {
      if (hasNoHandle(error)) throw error;
      throw await this.#leaveDamaged(segment, error);
    }
    return this.#peeked.batch;
  }

  /** Records that a batch is stored: the one that `peek` returned, which is removed, or one from memory. */
  async acknowledge(batch: Batch): Promise<void> {
    const segment = this.#segments[0];
    if (verificationsIn(batch) > 0) this.#verifiedAtMs = Date.now();
    if (this.#peeked !== undefined && segment !== undefined) {
      segment.rows -= batch.rows;
      segment.verifications -= verificationsIn(batch);
      this.#offset = this.#peeked.end;
      this.#peeked = undefined;
      await this.#leaveFinished();
    }
    await this.#writePosition();
  }

  async close(): Promise<void> {
    await Promise.all(this.#segments.map((segment) => segment.file?.close()));
  }

  async #segmentForWriting(): Promise<Segment> {
    const writing = this.#writing;
    if (writing !== undefined && writing.length < this.#segmentBytes) return writing;
    const name = `${String(this.#nextNumber).padStart(12, "0")}${suffix}`;
    const created = await createSegment(path.join(this.#dir, name), this.#nextNumber);
    this.#nextNumber += 1;
    this.#segments.push(created);
    this.#writing = created;
    return created;
  }

  /** Removes the segments that have been stored completely, unless they are still written to. */
  async #leaveFinished(): Promise<void> {
    for (;;) {
      const first = this.#segments[0];
      if (first === undefined || this.#offset < first.length) return;
      if (first === this.#writing && first.length < this.#segmentBytes) return;
      await this.#leaveFirst(first);
      await rm(first.path, { force: true });
    }
  }

  async #leaveDamaged(segment: Segment, cause: unknown): Promise<SpoolDamagedError> {
    const error = new SpoolDamagedError(`cannot read ${segment.path}`, { cause });
    error.lostRows = segment.rows;
    await this.#leaveFirst(segment);
    await rename(segment.path, `${segment.path}.damaged`).catch(() => undefined);
    return error;
  }

  async #leaveFirst(first: Segment): Promise<void> {
    this.#segments.shift();
    this.#offset = 0;
    if (first === this.#writing) this.#writing = undefined;
    await this.#writePosition();
    await first.file?.close();
  }

  async #writePosition(): Promise<void> {
    const segment = this.#segments[0]?.number ?? this.#nextNumber;
    const position = { segment, offset: this.#offset, verifiedAtMs: this.#verifiedAtMs };
    const draft = path.join(this.#dir, "position.new");
    try {
      await writeFile(draft, JSON.stringify(position), { mode: 0o600 });
      await rename(draft, path.join(this.#dir, "position"));
    } catch {
      // On a full disk the position lags: batches that are sent again because of it have the same tokens.
    }
  }
}

/** Too many connections use up a process's file handles: the error is transient, the file undamaged. */
function hasNoHandle(error: unknown): boolean {
  return ["EMFILE", "ENFILE", "ENOMEM"].includes((error as NodeJS.ErrnoException).code ?? "");
}

type Found = { segments: Segment[]; nextNumber: number; damaged: Damage[] };
type SpoolState = Found & Omit<Position, "segment">;

type Position = { segment: number; offset: number; verifiedAtMs: number };

async function findSegments(dir: string): Promise<SpoolState> {
  const names = (await readdir(dir)).filter((name) => segmentName.test(name)).sort();
  const lastNumber = Number.parseInt(names.at(-1) ?? "0", 10);
  const position = await readPosition(dir, lastNumber);
  const nextNumber = Math.max(lastNumber + 1, position.segment);
  const { verifiedAtMs } = position;
  const found: SpoolState = { segments: [], offset: 0, damaged: [], nextNumber, verifiedAtMs };
  for (const name of names) {
    // A file that cannot be read does not keep the others from being read.
    const file = path.join(dir, name);
    await takeSegment(found, file, position).catch((err) => found.damaged.push({ file, err }));
  }
  return found;
}

async function takeSegment(found: SpoolState, file: string, position: Position): Promise<void> {
  const number = Number.parseInt(path.basename(file), 10);
  if (number < position.segment) return rm(file, { force: true });
  const offset = number === position.segment ? position.offset : 0;
  const { segment, from, damagedBytes: bytes } = await scanSegment(file, number, offset);
  if (bytes > 0) found.damaged.push({ file, bytes });
  if (segment.length <= from) return rm(file, { force: true });
  if (found.segments.length === 0) found.offset = from;
  found.segments.push(segment);
}

/** An impossible position is ignored: batches that are not stored would be removed because of it. */
async function readPosition(dir: string, lastNumber: number): Promise<Position> {
  try {
    const text = await readFile(path.join(dir, "position"), "utf8");
    const { segment, offset, verifiedAtMs } = JSON.parse(text) as Position;
    const isPossible = Number.isInteger(segment) && Number.isInteger(offset) && offset >= 0;
    // Without segments it is where the next one begins.
    if (isPossible && (lastNumber === 0 || segment <= lastNumber + 1)) {
      return { segment, offset, verifiedAtMs };
    }
  } catch {
    // No readable position: begins at the start, and the tokens prevent duplicates.
  }
  return { segment: 1, offset: 0, verifiedAtMs: 0 };
}
