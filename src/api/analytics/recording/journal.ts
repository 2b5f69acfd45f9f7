/**
 * What was answered and is not in the spool yet, on disk as well: rows gather in memory for up to a
 * second, and a process that is killed in between has told its callers of them. A row is written before
 * its answer goes out, many rows in one write; without waiting for the disk itself, so that what a kill
 * of the process spares a failure of the machine may not.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { batchesOf, type RecordedTable, recordedTables } from "#api/analytics/batch.ts";
import type { Log } from "#kernel/log.ts";
import type { Spool } from "./spool.ts";

export type JournalSettings = {
  /** Where its files go; one process at a time. */
  dir: string;
  log: Log;
  /** How long an answer waits for a disk that stands still, in milliseconds. */
  patienceMs?: number;
};

/** Rows by the table that they are for, each as a line of JSON. */
export type Lines = Record<RecordedTable, string[]>;

const suffix = ".journal";

export class Journal {
  readonly #settings: Required<JournalSettings>;
  #page: JournalPage | undefined;

  constructor(settings: JournalSettings) {
    this.#settings = { patienceMs: 50, ...settings };
  }

  /** Resolves once the row is written, or cannot be in time. Never rejects. */
  add(table: RecordedTable, line: string): Promise<void> {
    this.#page ??= new JournalPage(this.#settings);
    return this.#page.add(`${table} ${line}\n`);
  }

  /** What was added since the last time, to be discarded once it is safe elsewhere. */
  turn(): JournalPage | undefined {
    const page = this.#page;
    this.#page = undefined;
    return page;
  }
}

/** The rows that are taken to the spool together. */
export class JournalPage {
  /** The same over a crash: of the batches that are made of it, the store counts each once. */
  readonly id = randomUUID();
  readonly #settings: Required<JournalSettings>;
  readonly #path: string;
  #file: FileHandle | undefined;
  #pending = "";
  #next: Promise<void> | undefined;
  #tail = Promise.resolve();
  /** After a failure nothing more is written: what comes after a torn line could not be read. */
  #isClosed = false;

  constructor(settings: Required<JournalSettings>) {
    this.#settings = settings;
    this.#path = path.join(settings.dir, `${this.id}${suffix}`);
  }

  add(text: string): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#pending += text;
    // While one write is under way the rows of all others wait for the one after it.
    this.#next ??= this.#schedule();
    return this.#next;
  }

  /** Nothing more comes. The file stays until `discard`: it is all that a kill spares of the rows. */
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
    this.#pending = "";
    await this.close();
    try {
      await rm(this.#path, { force: true });
    } catch (err) {
      this.#settings.log.warn({ err }, "analytics journal not removed");
    }
  }

  #schedule(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const patience = setTimeout(resolve, this.#settings.patienceMs);
    this.#tail = this.#tail.then(() => this.#write());
    void this.#tail.then(() => {
      clearTimeout(patience);
      resolve();
    });
    return promise;
  }

  async #write(): Promise<void> {
    const text = this.#pending;
    this.#pending = "";
    this.#next = undefined;
    if (text === "") return;
    try {
      this.#file ??= await open(this.#path, "ax", 0o600);
      await this.#file.appendFile(text);
    } catch (err) {
      this.#isClosed = true;
      this.#settings.log.warn({ err }, "analytics journal cannot be written");
    }
  }
}

/**
 * Puts into the spool what a killed run has left, and answers how many rows it could not. A journal that
 * cannot be read, or that finds no space, stays for the next start and keeps nothing else back.
 */
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

/** Answers how many rows were not taken. What is sent again with what was has the same tokens. */
async function spoolAll(id: string, lines: Lines, spool: Spool) {
  const left: { rows: number; err?: unknown } = { rows: 0 };
  for await (const batch of batchesOf(id, lines)) {
    await spool.append(batch).catch((err: unknown) => {
      left.rows += batch.rows;
      left.err = err;
    });
  }
  return left;
}

/** The whole lines, and how many are none: the last one may be torn, which no damage is. */
function readLines(text: string): { lines: Lines; unreadable: number } {
  const lines: Lines = { key_verifications_v1: [], ratelimits_v1: [] };
  let unreadable = 0;
  const entries = text.split("\n");
  for (const [index, entry] of entries.entries()) {
    const table = recordedTables.find((one) => entry.startsWith(`${one} `));
    const line = table === undefined ? "" : entry.slice(table.length + 1);
    if (table !== undefined && isJson(line)) lines[table].push(line);
    else if (index < entries.length - 1) unreadable += 1;
  }
  return { lines, unreadable };
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
