/** Records verifications and limit decisions; called on the hot path. */
import { batchesOf, type RecordedTable } from "#api/analytics/batch.ts";
import type { Log } from "#kernel/log.ts";
import type { Journal, JournalPage } from "./journal.ts";
import type { Outbox } from "./outbox.ts";

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

/** Counts of rows. Always, summed over all threads: recorded + recovered = stored + dropped + buffered + spooled. */
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
  outbox: Outbox;
  journal: Journal;
  log: Log;
  /** A batch is full at so many rows … */
  batchRows?: number;
  /** … or sent when its first row is this old, in milliseconds. */
  batchMs?: number;
  /** The maximum of rows in memory, encoded or not; further ones are dropped and counted. */
  maxBufferedRows?: number;
  /** The same for the length of their text; ordinary rows reach the other limit first. */
  maxBufferedChars?: number;
};

/** While the store is away, batches are made this many times less often, so that there are fewer to replay. */
const awayFactor = 10;

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
  /** Rows in the journal's page, of each table. */
  #waiting: Record<RecordedTable, number> = { key_verifications_v1: 0, ratelimits_v1: 0 };
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;
  #recorded = 0;
  #dropped = 0;
  /** Rows in memory, encoded or not, except those that the outbox holds. */
  #buffered = 0;
  #sealing = Promise.resolve();
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
      ...settings,
    };
    this.#timer = setInterval(() => this.#tick(), this.#settings.batchMs).unref();
  }

  verification(row: VerificationRow): RecordEnd {
    return this.#add("key_verifications_v1", row);
  }

  ratelimit(row: RatelimitRow): RecordEnd {
    return this.#add("ratelimits_v1", row);
  }

  counters(): RecorderCounters {
    const { recovered, stored, dropped, held, spooled } = this.#settings.outbox.counters();
    return {
      recorded: this.#recorded,
      recovered,
      stored,
      dropped: this.#dropped + dropped,
      buffered: this.#buffered + held,
      spooled,
    };
  }

  async flush(): Promise<void> {
    await this.#seal();
    await this.#settings.outbox.drain();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#seal();
    await this.#settings.outbox.close();
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
    const { outbox } = this.#settings;
    outbox.wake();
    if (!outbox.isAway() || this.#ticks % awayFactor === 0) void this.#seal();
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
    // The journal is the only copy on disk of batches that are only in memory.
    if (held !== undefined) void Promise.all(held).then(() => page.discard());
  }

  /** Returns what must leave the memory first; undefined: the page stays for the next start. Never throws. */
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
        const placed = await this.#settings.outbox.take(batch);
        if (placed.state === "held") held.push(placed.left);
        if (placed.state === "dropped") {
          this.#lose(batch.rows, "no space on disk or in memory", placed.error);
        }
        leave(batch.rows);
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

  #lose(rows: number, reason: string, err?: unknown): void {
    this.#dropped += rows;
    const now = Date.now();
    if (now - this.#lastLossLoggedAt < 10_000) return;
    this.#lastLossLoggedAt = now;
    this.#settings.log.error({ rows, reason, dropped: this.#dropped, err }, "rows dropped");
  }
}
