/** What the hot path calls to record a verification or a limit decision. */

import { type Batch, batchesOf, encodeRow, type RecordedTable } from "#api/analytics/batch.ts";
import type { Log } from "#kernel/log.ts";
import type { Journal, Lines } from "./journal.ts";
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

/** In rows. Always: recorded + recovered = stored + dropped + buffered + spooled. */
export type RecorderCounters = {
  /** Handed over since the start of the process. */
  recorded: number;
  /** Found on disk at the start, left by an earlier run. */
  recovered: number;
  /** Confirmed by the store. */
  stored: number;
  /** Given up, for want of space or because the store refuses them for good. Each loss is logged. */
  dropped: number;
  /** Now in memory. */
  buffered: number;
  /** Now on disk, waiting for the store. */
  spooled: number;
};

/** Resolves once a kill of the process cannot lose the row any more, or the disk is too slow to wait for. */
type RecordEnd = Promise<void> | void;

/** `verification` and `ratelimit` never throw nor reject: who answers waits for them first. */
export type AnalyticsRecorder = {
  verification(row: VerificationRow): RecordEnd;
  ratelimit(row: RatelimitRow): RecordEnd;
  /** Writes what is in memory to disk and waits until the store has all of it, or fails to take it. */
  flush(): Promise<void>;
  /** Writes what is in memory to disk, tries the store once more, and stops. */
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
  /** Rows in memory over all, encoded or not; what comes above is dropped and counted. */
  maxBufferedRows?: number;
  /** After a failure of the store, in milliseconds. */
  minRetryMs?: number;
};

/** What may wait in memory when the disk is full, in bytes. */
const maxUnspooledBytes = 32 * 1024 * 1024;
/** While the store is away batches are this many times rarer, so that there are fewer to replay. */
const awayFactor = 10;
/** How long an orderly stop waits for the store; the spool has what it does not take. */
const closeWithinMs = 3_000;

/**
 * Records in batches: each goes to disk first and from there to the store, so that an outage of the
 * store loses nothing that fits the spool. Until then the journal has them: a kill of the process loses
 * no row that was waited for, a failure of the machine those of the last `batchMs` at most.
 */
export function createRecorder(settings: RecorderSettings): AnalyticsRecorder {
  return new BatchingRecorder(settings);
}

class BatchingRecorder implements AnalyticsRecorder {
  readonly #settings: Required<RecorderSettings>;
  readonly #sender: Sender;
  #waiting: Lines = { key_verifications_v1: [], ratelimits_v1: [] };
  readonly #recovered: number;
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;
  #recorded = 0;
  #dropped = 0;
  /** Rows in memory, encoded or not, except those that the sender holds. */
  #buffered = 0;
  #sealing = Promise.resolve();
  #isClosed = false;
  #lastLossLoggedAt = 0;

  constructor(settings: RecorderSettings) {
    this.#settings = {
      batchRows: 5_000,
      batchMs: 1_000,
      maxBufferedRows: 100_000,
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
    // A drain that was under way may have looked before the last batch was there.
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
    if (this.#isClosed || this.#buffered >= this.#settings.maxBufferedRows) {
      this.#lose(1, "more rows than memory may hold");
      return;
    }
    const line = encodeRow(row);
    this.#buffered += 1;
    const isFull = this.#waiting[table].push(line) === this.#settings.batchRows;
    const written = this.#settings.journal.add(table, line);
    if (isFull) void this.#seal();
    return written;
  }

  #tick(): void {
    this.#ticks += 1;
    this.#sender.wake();
    if (!this.#sender.isAway() || this.#ticks % awayFactor === 0) void this.#seal();
  }

  /** Puts all rows in memory on disk. Never throws. */
  #seal(): Promise<void> {
    this.#sealing = this.#sealing.then(() => this.#sealNow());
    return this.#sealing;
  }

  async #sealNow(): Promise<void> {
    const lines = this.#waiting;
    // Both at once: the journal's page has the very same rows.
    const page = this.#settings.journal.turn();
    this.#waiting = { key_verifications_v1: [], ratelimits_v1: [] };
    if (page === undefined) return;
    const held: Promise<void>[] = [];
    for await (const batch of batchesOf(page.id, lines)) {
      await this.#settings.spool.append(batch).catch((error) => {
        const gone = this.#keep(batch, error);
        if (gone !== undefined) held.push(gone);
      });
      this.#buffered -= batch.rows;
      this.#sender.wake();
    }
    if (held.length === 0) return page.discard();
    // Of what waits in memory alone the journal is what is left after a kill.
    await page.close();
    void Promise.all(held).then(() => page.discard());
  }

  /** The batch is not in the spool: the store may still take it from memory, and when it is out of there. */
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
