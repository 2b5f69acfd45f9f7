/** Records verifications and limit decisions; called on the hot path. */

import { type Batch, batchesOf, type RecordedTable } from "#api/analytics/batch.ts";
import type { Log } from "#kernel/log.ts";
import type { Journal, JournalPage } from "./journal.ts";
import { type InsertBatch, Sender } from "./sender.ts";
import type { Spool } from "./spool.ts";

/** One answered `keys.verifyKey`. Ids that do not apply are empty. */
export type VerificationRow = {
  request_id: string;
  /** Unix milliseconds. */
  time: number;
  workspace_id: string;
  key_space_id: string;
  identity_id: string;
  external_id: string;
  key_id: string;
  region: string;
  source: "api" | "gateway";
  outcome: string;
  tags: string[];
  spent_credits: number;
  /** Milliseconds. */
  latency: number;
};

/** One answered rate limit decision. Ids that do not apply are empty. */
export type RatelimitRow = {
  request_id: string;
  /** Unix milliseconds. */
  time: number;
  workspace_id: string;
  namespace_id: string;
  identifier: string;
  passed: boolean;
  /** Milliseconds. */
  latency: number;
  override_id: string;
  limit: number;
  remaining: number;
  /** Unix milliseconds. */
  reset_at: number;
  /** The cost of the decision. */
  tokens: number;
};

/** Counts of rows. Always: recorded + recovered = stored + dropped + buffered + spooled. */
export type RecorderCounters = {
  /** Recorded since the start of the process. */
  recorded: number;
  /** Found on disk at the start, left by an earlier run. */
  recovered: number;
  /** Confirmed by the store. */
  stored: number;
  /** Lost, for lack of space or because the store refuses them. Losses are logged. */
  dropped: number;
  /** Now in memory. */
  buffered: number;
  /** Now on disk, waiting for the store. */
  spooled: number;
};

/** Resolves once the row survives a kill of the process, or after the journal's timeout. */
type RecordEnd = Promise<void> | void;

/** `verification` and `ratelimit` never throw nor reject; callers await them before they answer. */
export type AnalyticsRecorder = {
  verification(row: VerificationRow): RecordEnd;
  ratelimit(row: RatelimitRow): RecordEnd;
  /** Spools the rows in memory and waits until the store has all of them, or fails. */
  flush(): Promise<void>;
  /** Spools the rows in memory, tries the store once more, and stops. */
  close(): Promise<void>;
  counters(): RecorderCounters;
};

export type RecorderSettings = {
  spool: Spool;
  journal: Journal;
  insert: InsertBatch;
  log: Log;
  /** A batch is full at so many rows … */
  batchRows?: number;
  /** … or sent when its first row is this old, in milliseconds. */
  batchMs?: number;
  /** The maximum of rows in memory, encoded or not; further ones are dropped and counted. */
  maxBufferedRows?: number;
  /** The same for the length of their text; ordinary rows reach the other limit first. */
  maxBufferedChars?: number;
  /** The first retry's delay after a failure of the store, in milliseconds. */
  minRetryMs?: number;
};

/** The maximum of batches in memory when the disk is full, in bytes. */
const maxUnspooledBytes = 32 * 1024 * 1024;
/** While the store is away, batches are made this many times less often, so that there are fewer to replay. */
const awayFactor = 10;
/** How long an orderly stop waits for the store; rows that it does not take remain in the spool. */
const closeWithinMs = 3_000;

/** The milliseconds since `startedAt` of `performance.now()`, to the microsecond: more digits are noise. */
export function latencySince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 1_000) / 1_000;
}

/**
 * Records in batches: each is written to the spool first and sent to the store from there, so that an outage
 * of the store loses nothing that fits into the spool. Until then the journal has the rows: a kill of the
 * process loses no row that was awaited, a failure of the machine those of the last `batchMs` at most.
 */
export function createRecorder(settings: RecorderSettings): AnalyticsRecorder {
  return new BatchingRecorder(settings);
}

class BatchingRecorder implements AnalyticsRecorder {
  readonly #settings: Required<RecorderSettings>;
  readonly #sender: Sender;
  /** Rows in the journal's page, of each table. */
  #waiting: Record<RecordedTable, number> = { key_verifications_v1: 0, ratelimits_v1: 0 };
  readonly #recovered: number;
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;
  #recorded = 0;
  #dropped = 0;
  /** Rows in memory, encoded or not, except those that the sender holds. */
  #buffered = 0;
  #sealing = Promise.resolve();
  /** A seal that has not begun; undefined: none. */
  #nextSeal: Promise<void> | undefined;
  /** The length of the text of the page that goes to the spool now. */
  #sealingChars = 0;
  #isClosed = false;
  #lastLossLoggedAt = 0;

  constructor(settings: RecorderSettings) {
    this.#settings = {
      batchRows: 5_000,
      batchMs: 1_000,
      maxBufferedRows: 100_000,
      maxBufferedChars: 16 * 1024 * 1024,
      minRetryMs: 250,
      ...settings,
    };
    const { spool, insert, log, minRetryMs, batchMs } = this.#settings;
    this.#sender = new Sender({ spool, insert, log, minRetryMs });
    this.#recovered = spool.rows();
    this.#reportRecovery();
    this.#timer = setInterval(() => this.#tick(), batchMs).unref();
    this.#sender.wake();
  }

  verification(row: VerificationRow): RecordEnd {
    return this.#add("key_verifications_v1", row);
  }

  ratelimit(row: RatelimitRow): RecordEnd {
    return this.#add("ratelimits_v1", row);
  }

  counters(): RecorderCounters {
    return {
      recorded: this.#recorded,
      recovered: this.#recovered,
      stored: this.#sender.stored,
      dropped: this.#dropped + this.#sender.dropped,
      buffered: this.#buffered + this.#sender.unspooledRows(),
      spooled: this.#settings.spool.rows(),
    };
  }

  async flush(): Promise<void> {
    await this.#seal();
    // A drain that was running already may have missed the last batch.
    await this.#sender.drain();
    await this.#sender.drain();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#seal();
    await this.#sender.close(closeWithinMs);
    await this.#settings.spool.close();
  }

  #add(table: RecordedTable, row: object): RecordEnd {
    this.#recorded += 1;
    if (this.#isClosed || this.#isMemoryFull()) {
      this.#lose(1, "more rows than memory may hold");
      return;
    }
    this.#buffered += 1;
    this.#waiting[table] += 1;
    const isFull = this.#waiting[table] === this.#settings.batchRows;
    const written = this.#settings.journal.add(table, row);
    if (isFull) void this.#seal();
    return written;
  }

  #isMemoryFull(): boolean {
    const { journal, maxBufferedRows, maxBufferedChars } = this.#settings;
    if (this.#buffered >= maxBufferedRows) return true;
    return this.#sealingChars + journal.chars() >= maxBufferedChars;
  }

  #tick(): void {
    this.#ticks += 1;
    this.#sender.wake();
    if (!this.#sender.isAway() || this.#ticks % awayFactor === 0) void this.#seal();
  }

  /** Moves all rows in memory to the spool. Never throws; while the disk is slow, at most one more is waiting. */
  #seal(): Promise<void> {
    this.#nextSeal ??= this.#sealing.then(() => {
      this.#nextSeal = undefined;
      return this.#sealPage();
    });
    this.#sealing = this.#nextSeal;
    return this.#sealing;
  }

  async #sealPage(): Promise<void> {
    const page = this.#settings.journal.turn();
    this.#waiting = { key_verifications_v1: 0, ratelimits_v1: 0 };
    if (page === undefined) return;
    const held = await this.#spool(page);
    if (held?.length === 0) await page.discard();
    else await page.close();
    this.#sealingChars = 0;
    // Of batches that are only in memory, the journal is the only copy on disk.
    if (held !== undefined) void Promise.all(held).then(() => page.discard());
  }

  /**
   * Returns what has to leave the memory before the page may be discarded; undefined: it has to stay for the next
   * start, which reads it again. Never throws.
   */
  async #spool(page: JournalPage): Promise<Promise<void>[] | undefined> {
    let held: Promise<void>[] | undefined = [];
    let reason = "rows that cannot be encoded";
    let rows = page.rows;
    const leave = (count: number) => {
      rows -= count;
      this.#buffered -= count;
    };
    try {
      const chunks = page.takeChunks();
      this.#sealingChars = page.chars;
      for (const batch of batchesOf(page.id, chunks)) {
        await this.#settings.spool.append(batch).catch((error) => {
          const gone = this.#keep(batch, error);
          if (gone !== undefined) held?.push(gone);
        });
        leave(batch.rows);
        this.#sender.wake();
      }
    } catch (error) {
      this.#settings.log.error({ err: error }, "analytics rows not spooled");
      held = undefined;
      reason = "not spooled, left in the journal for the next start";
    }
    if (rows > 0) this.#lose(rows, reason);
    leave(rows);
    return held;
  }

  /** Holds a batch in memory that the spool refused. The promise resolves when it has left the memory; undefined: dropped. */
  #keep(batch: Batch, error: unknown): Promise<void> | undefined {
    if (this.#sender.unspooledBytes() + batch.body.length > maxUnspooledBytes) {
      this.#lose(batch.rows, "no space on disk or in memory", error);
      return undefined;
    }
    return this.#sender.hold(batch);
  }

  #lose(rows: number, reason: string, err?: unknown): void {
    this.#dropped += rows;
    const now = Date.now();
    if (now - this.#lastLossLoggedAt < 10_000) return;
    this.#lastLossLoggedAt = now;
    this.#settings.log.error({ rows, reason, dropped: this.#dropped, err }, "rows dropped");
  }

  #reportRecovery(): void {
    const { spool, log } = this.#settings;
    if (this.#recovered > 0) log.info({ rows: this.#recovered }, "replaying spooled analytics");
    for (const damage of spool.damaged) {
      log.warn(damage, "analytics spool has records that are torn or damaged, left out");
    }
  }
}
