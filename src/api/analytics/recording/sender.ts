/** Sends the spool's batches to the store, in order, with retries. */
import type { Batch } from "#api/analytics/batch.ts";
import { backoffMs, onceAtATime } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { type Spool, SpoolDamagedError } from "./spool.ts";

/** The store will never accept this batch: a retry is useless. */
export class BatchRefusedError extends Error {}

/** Stores a batch, once for each token. Throws `BatchRefusedError`, or another error when a retry may help. */
export type InsertBatch = (batch: Batch, signal: AbortSignal) => Promise<void>;

export type SenderSettings = {
  spool: Spool;
  insert: InsertBatch;
  log: Log;
  /** True while a row would start the store. */
  isResting?: () => boolean;
  /** The delay after the first failure; it doubles up to `maxRetryMs`. */
  minRetryMs?: number;
  maxRetryMs?: number;
};

/** So many decisions of limits start a store that rests: each check of the API makes one a minute, and they are on disk. */
const startingRows = 30;

type WaitingBatch = { batch: Batch; leave: () => void };

export class Sender {
  readonly #settings: Required<SenderSettings>;
  readonly #stopping = new AbortController();
  /** Batches for which the spool had no space; they are sent from memory. */
  readonly #unspooled: WaitingBatch[] = [];
  readonly #run = onceAtATime(() => this.#sendAll());
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Rows. */
  stored = 0;
  dropped = 0;

  constructor(settings: SenderSettings) {
    this.#settings = { minRetryMs: 250, maxRetryMs: 30_000, isResting: () => false, ...settings };
  }

  /** True if the last attempt failed. */
  isAway(): boolean {
    return this.#failures > 0;
  }

  /** Rows that are not in the spool. */
  unspooledRows(): number {
    return this.#unspooled.reduce((sum, { batch }) => sum + batch.rows, 0);
  }

  unspooledBytes(): number {
    return this.#unspooled.reduce((sum, { batch }) => sum + batch.body.length, 0);
  }

  /** Takes a batch that is not in the spool. Resolves once it is stored or refused. */
  hold(batch: Batch): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#unspooled.push({ batch, leave: resolve });
    return promise;
  }

  /** Begins to send, unless a retry is scheduled. */
  wake(): void {
    if (this.#retry === undefined) void this.drain();
  }

  /** Sends until nothing is left or the store fails. Never throws. */
  drain(): Promise<void> {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    return this.#run();
  }

  /** Makes one more attempt, which is aborted after `withinMs`. */
  async close(withinMs: number): Promise<void> {
    const deadline = setTimeout(() => this.#stopping.abort(), withinMs);
    await this.drain();
    clearTimeout(deadline);
    this.#stopping.abort();
    clearTimeout(this.#retry);
  }

  async #sendAll(): Promise<void> {
    const { spool, isResting } = this.#settings;
    const isFew = spool.rows() < startingRows && spool.verifications() === 0;
    if (isResting() && isFew && this.#unspooled.length === 0) return;
    try {
      while (!this.#stopping.signal.aborted && (await this.#sendNext()));
      this.#recordReturn();
    } catch (error) {
      this.#recordFailure(error);
    }
  }

  async #sendNext(): Promise<boolean> {
    const spooled = await this.#peek();
    const batch = spooled ?? this.#unspooled[0]?.batch;
    if (batch === undefined) return false;
    this[(await this.#insert(batch)) ? "stored" : "dropped"] += batch.rows;
    if (spooled === undefined) this.#unspooled.shift()?.leave();
    await this.#settings.spool.acknowledge(batch);
    return true;
  }

  async #insert(batch: Batch): Promise<boolean> {
    try {
      await this.#settings.insert(batch, this.#stopping.signal);
      return true;
    } catch (error) {
      if (!(error instanceof BatchRefusedError)) throw error;
      const fields = { err: error, table: batch.table, rows: batch.rows };
      this.#settings.log.error(fields, "analytics store refuses a batch, rows dropped");
      return false;
    }
  }

  async #peek(): Promise<Batch | undefined> {
    try {
      return await this.#settings.spool.peek();
    } catch (error) {
      if (!(error instanceof SpoolDamagedError)) throw error;
      this.dropped += error.lostRows;
      const fields = { err: error, rows: error.lostRows };
      this.#settings.log.error(fields, "analytics spool is damaged, rows dropped");
      return this.#peek();
    }
  }

  #recordReturn(): void {
    if (this.#failures > 0) this.#settings.log.info("analytics store is back");
    this.#failures = 0;
  }

  #recordFailure(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    const { log, minRetryMs, maxRetryMs, spool } = this.#settings;
    if (this.#failures === 0) {
      log.warn({ err: error, rows: spool.rows() }, "analytics store is away, rows are spooled");
    }
    const waitMs = backoffMs(this.#failures, { firstMs: minRetryMs, longestMs: maxRetryMs });
    this.#failures += 1;
    this.#retry = setTimeout(() => void this.drain(), waitMs);
    this.#retry.unref();
  }
}
