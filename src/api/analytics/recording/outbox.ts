/** Takes full batches to the store by the spool, or by memory while the spool is full. One for all threads. */
import type { Batch } from "#api/analytics/batch.ts";
import type { Log } from "#kernel/log.ts";
import { type InsertBatch, Sender } from "./sender.ts";
import type { Spool } from "./spool.ts";

/** Place of a batch: on disk; in memory until `left` resolves; or nowhere, for want of space. */
type Placement =
  | { state: "spooled" }
  | { state: "held"; left: Promise<void> }
  | { state: "dropped"; error: unknown };

/** Counts of rows. */
type OutboxCounters = {
  /** Found on disk at the start, left by an earlier run. */
  recovered: number;
  /** Confirmed by the store. */
  stored: number;
  /** Refused by the store, or lost with a damaged file. */
  dropped: number;
  /** Now in memory. */
  held: number;
  /** Now on disk, waiting for the store. */
  spooled: number;
};

export type Outbox = {
  /** Never rejects for want of space. */
  take: (batch: Batch) => Promise<Placement>;
  /** Begins to send, unless a retry is scheduled. */
  wake: () => void;
  /** True if the last attempt to reach the store failed. */
  isAway: () => boolean;
  /** Waits until the store has everything, or fails. */
  drain: () => Promise<void>;
  /** Tries the store once more, and stops. What it doesn't take remains in the spool. */
  close: () => Promise<void>;
  counters: () => OutboxCounters;
};

export type OutboxSettings = {
  spool: Spool;
  insert: InsertBatch;
  isResting?: () => boolean;
  log: Log;
  /** The first retry's delay after a failure of the store, in milliseconds. */
  minRetryMs?: number;
};

/** The maximum of batches in memory when the disk is full, in bytes. */
const maxHeldBytes = 32 * 1024 * 1024;
/** An orderly stop waits so long for the store. */
const closeWithinMs = 3_000;

export function createOutbox({ spool, log, ...settings }: OutboxSettings): Outbox {
  const sender = new Sender({ spool, log, ...settings });
  const recovered = spool.rows();
  reportRecovery(spool, { recovered, log });
  sender.wake();
  let appending: Promise<unknown> = Promise.resolve();
  const hold = (batch: Batch, error: unknown): Placement => {
    if (sender.unspooledBytes() + batch.body.length > maxHeldBytes) {
      return { state: "dropped", error };
    }
    return { state: "held", left: sender.hold(batch) };
  };
  const place = (batch: Batch): Promise<Placement> =>
    spool.append(batch).then(
      () => ({ state: "spooled" }),
      (error: unknown) => hold(batch, error),
    );
  return {
    take: (batch) => {
      // The spool takes one after the other.
      const placing = appending.then(() => place(batch));
      // One that fails is its caller's; the next one is taken all the same.
      appending = placing.catch(() => {});
      return placing.finally(() => sender.wake());
    },
    wake: () => sender.wake(),
    isAway: () => sender.isAway(),
    drain: async () => {
      // A drain that was running already may have missed the last batch.
      await sender.drain();
      await sender.drain();
    },
    close: async () => {
      await sender.close(closeWithinMs);
      await spool.close();
    },
    counters: () => ({
      recovered,
      stored: sender.stored,
      dropped: sender.dropped,
      held: sender.unspooledRows(),
      spooled: spool.rows(),
    }),
  };
}

function reportRecovery(
  { damaged }: Spool,
  { recovered, log }: { recovered: number; log: Log },
): void {
  if (recovered > 0) log.info({ rows: recovered }, "replaying spooled analytics");
  for (const damage of damaged) {
    log.warn(damage, "analytics spool has records that are torn or damaged, left out");
  }
}
