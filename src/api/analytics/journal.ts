/**
 * What was answered and is not in the spool yet, on disk as well: rows gather in memory for up to a
 * second, and a process that is killed in between has told its callers of them. A row is written before
 * its answer goes out, many rows in one write; without waiting for the disk itself, so that what a kill
 * of the process spares a failure of the machine may not.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import type { Log } from "#kernel/log.ts";
import { type Batch, batchesOf, type RecordedTable, recordedTables } from "./batch.ts";
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

  async discard(): Promise<void> {
    this.#isClosed = true;
    this.#pending = "";
    await this.#tail;
    try {
      await this.#file?.close();
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

/** Puts into the spool what a killed run has left, and answers how many rows it could not. */
export async function recoverJournals(
  { dir, log }: JournalSettings,
  spool: Spool,
): Promise<number> {
  let lost = 0;
  for (const name of (await readdir(dir)).filter((one) => one.endsWith(suffix))) {
    const lines = readLines(await readFile(path.join(dir, name), "utf8"));
    for await (const batch of batchesOf(path.basename(name, suffix), lines)) {
      lost += await appendOrLose(batch, spool, log);
    }
    await rm(path.join(dir, name), { force: true });
  }
  return lost;
}

async function appendOrLose(batch: Batch, spool: Spool, log: Log): Promise<number> {
  try {
    await spool.append(batch);
    return 0;
  } catch (err) {
    log.error({ err, rows: batch.rows }, "no space for analytics of a killed run, rows dropped");
    return batch.rows;
  }
}

/** The whole lines; the last one may be torn. */
function readLines(text: string): Lines {
  const lines: Lines = { key_verifications_v1: [], ratelimits_v1: [] };
  for (const entry of text.split("\n")) {
    const table = recordedTables.find((one) => entry.startsWith(`${one} `));
    const line = table === undefined ? "" : entry.slice(table.length + 1);
    if (table !== undefined && isJson(line)) lines[table].push(line);
  }
  return lines;
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
