/**
 * A log on disk of the rows that are not in the spool yet: they are collected in memory for up to a second,
 * and their calls are answered before that. A row is written before its answer is sent, many rows in one
 * write, but without waiting for the disk (fsync): it survives a kill of the process, but perhaps not a
 * failure of the machine.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as delay, setImmediate as endOfTurn } from "node:timers/promises";
import {
  batchesOf,
  type Chunk,
  type Chunks,
  chunkOf,
  encodeChunk,
  type RecordedTable,
  recordedTables,
} from "#api/analytics/batch.ts";
import { parseJsonText } from "#kernel/body.ts";
import type { Log } from "#kernel/log.ts";
import type { Spool } from "./spool.ts";

/** A measurement costs more than what asks for it. */
const measuredEveryMs = 100;

/** The part of the time that the loop works. */
const busyShare = 0.7;

type Loop = Pick<typeof performance, "now" | "eventLoopUtilization">;

/** Returns a function that is true if the event loop was nearly saturated at its last measurement. */
export function createIsLoopBusy(loop: Loop = performance): () => boolean {
  let last = loop.eventLoopUtilization();
  let nextAt = loop.now() + measuredEveryMs;
  let isBusy = false;
  return () => {
    const now = loop.now();
    if (now < nextAt) return isBusy;
    nextAt = now + measuredEveryMs;
    const current = loop.eventLoopUtilization();
    isBusy = loop.eventLoopUtilization(current, last).utilization >= busyShare;
    last = current;
    return isBusy;
  };
}

type JournalSettings = {
  /** Folder of its files; one process at a time. */
  dir: string;
  log: Log;
  /** An answer waits so long for a disk that does not respond, in milliseconds. */
  writeTimeoutMs?: number;
  /** Is awaited before a write: rows that are added meanwhile are in it too. */
  gather?: () => Promise<unknown>;
};

const none = <Kind>(): Record<RecordedTable, Kind[]> => ({
  key_verifications_v1: [],
  ratelimits_v1: [],
});

const suffix = ".journal";

/** Rows that are not encoded yet are encoded at the latest when so many wait: of encoded ones the size is known. */
const maxPendingRows = 1_000;

export class Journal {
  readonly #settings: Required<JournalSettings>;
  #page: JournalPage | undefined;

  constructor(settings: JournalSettings) {
    this.#settings = { writeTimeoutMs: 50, gather: createGather(), ...settings };
  }

  /** Resolves once the row is written, at the latest after the timeout. Never rejects. */
  add(table: RecordedTable, row: object): Promise<void> {
    this.#page ??= new JournalPage(this.#settings);
    return this.#page.add(table, row);
  }

  /** The length of the rows' text since the last turn, those aside that are not encoded yet. */
  chars(): number {
    return this.#page?.chars ?? 0;
  }

  /** Begins a new page and returns the last one, to be discarded once its rows are in the spool. */
  turn(): JournalPage | undefined {
    const page = this.#page;
    this.#page = undefined;
    return page;
  }
}

/** The rows that are moved to the spool together. */
export class JournalPage {
  /** Does not change after a crash, so that the store counts each batch of this page once. */
  readonly id = randomUUID();
  /** Number of added rows. `chars`: the length of the text of those that are encoded. */
  rows = 0;
  chars = 0;
  readonly #settings: Required<JournalSettings>;
  readonly #path: string;
  #chunks = none<Chunk>();
  #file: FileHandle | undefined;
  /** Rows that are neither in a chunk nor in `#unwritten` yet: all of a turn are encoded in one go. */
  #pending = none<object>();
  #unwritten = "";
  #next: Promise<void> | undefined;
  #tail = Promise.resolve();
  /** True after a failure: a line after a torn one could not be read. */
  #isClosed = false;

  constructor(settings: Required<JournalSettings>) {
    this.#settings = settings;
    this.#path = path.join(settings.dir, `${this.id}${suffix}`);
  }

  add(table: RecordedTable, row: object): Promise<void> {
    this.rows += 1;
    if (this.#pending[table].push(row) >= maxPendingRows) this.#collect();
    if (this.#isClosed) return Promise.resolve();
    // While a write is running, all further rows are collected for the next one.
    this.#next ??= this.#schedule();
    return this.#next;
  }

  /** Hands over all rows, written or not. The page keeps none: it may stay for long, as the name of its file. */
  takeChunks(): Chunks {
    this.#collect();
    const chunks = this.#chunks;
    this.#chunks = none();
    return chunks;
  }

  /** Ends writing. The file is not deleted before `discard`: after a kill it is the only copy of the rows. */
  async close(): Promise<void> {
    await this.#tail;
    this.#isClosed = true;
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch((err: unknown) => {
      this.#settings.log.warn({ err }, "analytics journal not closed");
    });
  }

  async discard(): Promise<void> {
    this.#isClosed = true;
    this.#unwritten = "";
    await this.close();
    try {
      await rm(this.#path, { force: true });
    } catch (err) {
      this.#settings.log.warn({ err }, "analytics journal not removed");
    }
  }

  #schedule(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#settings.writeTimeoutMs);
    this.#tail = this.#tail.then(() => this.#settings.gather()).then(() => this.#write());
    void this.#tail.then(() => {
      clearTimeout(timer);
      resolve();
    });
    return promise;
  }

  /** Moves the pending rows to the chunks, and to what has to be written. Never throws. */
  #collect(): void {
    const pending = this.#pending;
    this.#pending = none();
    for (const table of recordedTables) {
      if (pending[table].length > 0) this.#encode(table, pending[table]);
    }
  }

  #encode(table: RecordedTable, rows: readonly object[]): void {
    try {
      const chunk = encodeChunk(rows);
      this.#chunks[table].push(chunk);
      this.chars += chunk.text.length;
      if (this.#isClosed) return;
      this.#unwritten += `${table} ${chunk.text.replaceAll("\n", `\n${table} `)}\n`;
    } catch (err) {
      // The taker of the chunks finds that rows are missing, and counts them.
      this.#settings.log.error({ err, rows: rows.length }, "analytics rows cannot be encoded");
    }
  }

  async #write(): Promise<void> {
    this.#collect();
    const text = this.#unwritten;
    this.#unwritten = "";
    this.#next = undefined;
    if (text === "" || this.#isClosed) return;
    try {
      this.#file ??= await open(this.#path, "ax", 0o600);
      for (const part of partsOf(text)) await writeAll(this.#file, Buffer.from(part));
    } catch (err) {
      this.#isClosed = true;
      this.#unwritten = "";
      this.#settings.log.warn({ err }, "analytics journal cannot be written");
    }
  }
}

/** After a slow write there may be many rows: as bytes all at once they would need as much memory again. */
const partChars = 1024 * 1024;

/** Whole lines. */
function* partsOf(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf("\n", start + partChars);
    const end = newline === -1 ? text.length : newline + 1;
    yield text.slice(start, end);
    start = end;
  }
}

/** Writes like `appendFile`, with less around it. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten;
}

/** Moves a killed run's rows into the spool, and returns how many it could not; their journals stay for the next start. */
export async function recoverJournals(
  { dir, log }: JournalSettings,
  spool: Spool,
): Promise<number> {
  let waiting = 0;
  for (const name of (await readdir(dir)).filter((one) => one.endsWith(suffix))) {
    const file = path.join(dir, name);
    try {
      const { lines, unreadable } = readLines(await readFile(file, "utf8"));
      if (unreadable > 0) log.warn({ file, lines: unreadable }, "analytics journal is damaged");
      const left = await spoolAll(path.basename(name, suffix), lines, spool);
      waiting += left.rows;
      if (left.rows === 0) await rm(file, { force: true });
      else log.error({ ...left, file }, "no space for analytics of a killed run, left in its file");
    } catch (err) {
      log.error({ err, file }, "analytics journal not recovered, left as it is");
    }
  }
  return waiting;
}

/** Returns how many rows the spool did not take. Rows that are spooled twice have the same tokens. */
async function spoolAll(id: string, lines: Record<RecordedTable, string[]>, spool: Spool) {
  const left: { rows: number; err?: unknown } = { rows: 0 };
  const chunks = {
    key_verifications_v1: [chunkOf(lines.key_verifications_v1)],
    ratelimits_v1: [chunkOf(lines.ratelimits_v1)],
  };
  for (const batch of batchesOf(id, chunks)) {
    await spool.append(batch).catch((err: unknown) => {
      left.rows += batch.rows;
      left.err = err;
    });
  }
  return left;
}

/** The complete lines, and the number of unreadable ones; a torn last line is normal and not counted. */
function readLines(text: string) {
  const lines = none<string>();
  let unreadable = 0;
  const entries = text.split("\n");
  for (const [index, entry] of entries.entries()) {
    const table = recordedTables.find((one) => entry.startsWith(`${one} `));
    const line = table === undefined ? "" : entry.slice(table.length + 1);
    if (table !== undefined && parseJsonText(line) !== undefined) lines[table].push(line);
    else if (index < entries.length - 1) unreadable += 1;
  }
  return { lines, unreadable };
}

/** A delay for a busy loop: the work that it saves makes answers earlier than it makes them late. */
const gatherMs = 1;

/** Resolves when the rows so far are to be written: at the end of the turn, or a millisecond later while the loop is busy. */
export function createGather(isBusy = createIsLoopBusy()): () => Promise<unknown> {
  return () => (isBusy() ? delay(gatherMs) : endOfTurn());
}
