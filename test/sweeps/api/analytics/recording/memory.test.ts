/** What the recorder keeps in memory while a disk or the store is slow, or fails. */
import { expect, it, onTestFinished } from "vitest";
import { Journal, type JournalPage } from "#api/analytics/recording/journal.ts";
import { createOutbox } from "#api/analytics/recording/outbox.ts";
import {
  type AnalyticsRecorder,
  createRecorder,
  type RecorderSettings,
} from "#api/analytics/recording/recorder.ts";
import type { InsertBatch } from "#api/analytics/recording/sender.ts";
import { openSpool, type Spool } from "#api/analytics/recording/spool.ts";
import { createLog } from "#kernel/log.ts";
import { ratelimitRow, verificationRow } from "../../../../support/api/analytics-rows.ts";
import { tempDir } from "../../../../support/temp-dir.ts";
import { usedHeap } from "../../../../support/used-heap.ts";

const log = createLog({ level: "silent", format: "json" });

/** Counts how often a new page was begun. */
class CountedJournal extends Journal {
  turns = 0;

  override turn(): JournalPage | undefined {
    this.turns += 1;
    return super.turn();
  }
}

const storeAll = async () => {};

type Start = Partial<RecorderSettings> & {
  maxBytes?: number;
  journalDir?: string;
  insert?: InsertBatch;
};

async function start(settings: Start = {}) {
  const { maxBytes = 100_000_000, journalDir = tempDir(), insert = storeAll, ...rest } = settings;
  const spool = await openSpool({ dir: tempDir(), maxBytes });
  const journal = new CountedJournal({ dir: journalDir, log });
  const outbox = createOutbox({ spool, insert, log });
  const recorder = createRecorder({ outbox, journal, log, batchMs: 60_000, ...rest });
  onTestFinished(() => recorder.close());
  return { recorder, spool, journal };
}

/** The spool's disk takes nothing until `wake` is called. */
function hang(spool: Spool) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const append = spool.append.bind(spool);
  spool.append = async (batch) => {
    await promise;
    await append(batch);
  };
  onTestFinished(() => resolve());
  return { wake: resolve };
}

function balanceOf(recorder: AnalyticsRecorder): number {
  const { recorded, stored, dropped, buffered, spooled } = recorder.counters();
  return recorded - stored - dropped - buffered - spooled;
}

it("has no copy of rows that were dropped while others of their page wait for the store", async () => {
  const away = async () => Promise.reject(new Error("away"));
  const { recorder } = await start({ maxBytes: 0, insert: away });
  const identifier = "x".repeat(4_000_000);
  await recorder.flush();
  const before = usedHeap();

  for (let round = 0; round < 30; round += 1) {
    void recorder.verification(verificationRow());
    void recorder.ratelimit(ratelimitRow({ identifier }));
    await recorder.flush();
  }

  expect(recorder.counters().dropped).toBeGreaterThan(15);
  expect(usedHeap() - before).toBeLessThan(40_000_000);
});

it.each([
  ["hangs", {}],
  ["hangs, and that of the journal fails", { journalDir: "/nowhere" }],
])("bounds the text of rows while the disk of the spool %s", async (_, settings) => {
  const { recorder, spool } = await start({ ...settings, maxBufferedChars: 1_000_000 });
  const { wake } = hang(spool);
  const row = ratelimitRow({ identifier: "x".repeat(500) });

  await recorder.ratelimit(row);
  for (let index = 0; index < 20_000; index += 1) void recorder.ratelimit(row);
  await recorder.ratelimit(row);
  const during = recorder.counters();
  wake();
  await recorder.flush();

  // A million characters are 1,400 of these rows; a thousand may be encoded together.
  expect(during.buffered).toBeGreaterThan(1_000);
  expect(during.buffered).toBeLessThanOrEqual(3_000);
  expect(balanceOf(recorder)).toBe(0);
  expect(recorder.counters()).toMatchObject({ stored: during.buffered, buffered: 0 });
});

it("takes rows again when the disk is back", async () => {
  const { recorder, spool } = await start({ maxBufferedChars: 100_000 });
  const { wake } = hang(spool);
  for (let index = 0; index < 3_000; index += 1) void recorder.ratelimit(ratelimitRow());
  wake();
  await recorder.flush();
  const { stored } = recorder.counters();

  await recorder.ratelimit(ratelimitRow());
  await recorder.flush();

  expect(recorder.counters().stored).toBe(stored + 1);
});

it("lets one seal wait for a disk that hangs, however many are asked for", async () => {
  const { recorder, spool, journal } = await start();
  const { wake } = hang(spool);
  await recorder.verification(verificationRow());

  const flushes = Array.from({ length: 50 }, () => recorder.flush());
  await recorder.verification(verificationRow());
  wake();
  await Promise.all(flushes);

  expect(journal.turns).toBeLessThanOrEqual(2);
  expect(recorder.counters().stored).toBeGreaterThanOrEqual(1);
});

it("counts rows that cannot be encoded as dropped, and goes on", async () => {
  const { recorder } = await start();
  await recorder.verification(verificationRow({ spent_credits: 1n as unknown as number }));
  await recorder.ratelimit(ratelimitRow());
  await recorder.flush();

  await recorder.verification(verificationRow());
  await recorder.flush();

  expect(recorder.counters()).toMatchObject({ recorded: 3, dropped: 1, stored: 2, buffered: 0 });
});
