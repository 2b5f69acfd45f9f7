import { cpSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Batch } from "#api/analytics/batch.ts";
import { Journal, recoverJournals } from "#api/analytics/recording/journal.ts";
import { createOutbox } from "#api/analytics/recording/outbox.ts";
import {
  createRecorder,
  type RecorderCounters,
  type RecorderSettings,
} from "#api/analytics/recording/recorder.ts";
import { BatchRefusedError } from "#api/analytics/recording/sender.ts";
import { openSpool } from "#api/analytics/recording/spool.ts";
import { createLog } from "#kernel/log.ts";
import { ratelimitRow, verificationRow } from "../../../support/api/analytics-rows.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

/** A store in memory that counts a token once and can be away, slow or lose its answers. */
function memoryStore() {
  const tokens = new Set<string>();
  const rows: Record<string, unknown>[] = [];
  const store = {
    rows,
    sent: 0,
    mode: "up" as "up" | "away" | "answer-lost" | "refusing" | "hanging",
    insert: async (batch: Batch, signal: AbortSignal) => {
      store.sent += 1;
      if (store.mode === "away") throw new Error("away");
      if (store.mode === "refusing") throw new BatchRefusedError("refused");
      if (store.mode === "hanging") await delay(60_000, undefined, { signal });
      if (!tokens.has(batch.token)) {
        tokens.add(batch.token);
        const lines = batch.body.toString().trim().split("\n");
        rows.push(...lines.map((line) => JSON.parse(line)));
      }
      if (store.mode === "answer-lost") throw new Error("answer lost");
    },
  };
  return store;
}

type Start = Partial<RecorderSettings> & {
  minRetryMs?: number;
  dir?: string;
  maxBytes?: number;
  store?: ReturnType<typeof memoryStore>;
};

async function start(settings: Start) {
  const { dir = tempDir(), maxBytes = 10_000_000, store = memoryStore(), ...given } = settings;
  const { minRetryMs = 5, ...rest } = given;
  const spool = await openSpool({ dir, maxBytes });
  await recoverJournals({ dir, log }, spool);
  const journal = new Journal({ dir, log });
  const insert = store.insert;
  const outbox = createOutbox({ spool, insert, log, minRetryMs });
  const recorder = createRecorder({ outbox, journal, log, ...rest });
  onTestFinished(() => recorder.close());
  return { recorder, store, dir };
}

function journalsIn(dir: string): string[] {
  return readdirSync(dir).filter((name) => name.endsWith(".journal"));
}

function balance(counters: RecorderCounters): number {
  const { recorded, recovered, stored, dropped, buffered, spooled } = counters;
  return recorded + recovered - stored - dropped - buffered - spooled;
}

it("stores what was recorded, each row in its table's batch", async () => {
  const { recorder, store } = await start({});
  void recorder.verification(verificationRow({ key_id: "key_9" }));
  void recorder.ratelimit(ratelimitRow({ identifier: "user_9" }));

  await recorder.flush();

  expect(store.rows).toEqual([
    expect.objectContaining({ key_id: "key_9" }),
    expect.objectContaining({ identifier: "user_9" }),
  ]);
});

it("the recorder sends by itself when a batch is full", async () => {
  const { recorder, store } = await start({ batchRows: 10, batchMs: 60_000 });

  for (let index = 0; index < 10; index += 1) void recorder.verification(verificationRow());

  await waitFor(() => store.rows.length === 10, { withinMs: 5_000, what: "the batch" });
});

it("the recorder sends by itself when the first row has waited long enough", async () => {
  const { recorder, store } = await start({ batchMs: 10 });

  void recorder.verification(verificationRow());

  await waitFor(() => store.rows.length === 1, { withinMs: 5_000, what: "the batch" });
});

it("the recorder keeps rows on disk while the store is away and stores them once it is back", async () => {
  const { recorder, store } = await start({});
  store.mode = "away";
  for (let index = 0; index < 30; index += 1) void recorder.verification(verificationRow());
  await recorder.flush();
  const whileAway = recorder.counters();

  store.mode = "up";
  await waitFor(() => store.rows.length === 30, { withinMs: 5_000, what: "the replay" });

  expect(whileAway).toMatchObject({ spooled: 30, buffered: 0, stored: 0 });
});

it("the recorder counts a batch once whose answer was lost", async () => {
  const { recorder, store } = await start({});
  store.mode = "answer-lost";
  void recorder.verification(verificationRow());
  await recorder.flush();
  await waitFor(() => store.sent >= 3, { withinMs: 5_000, what: "it to be sent again" });

  store.mode = "up";
  await recorder.flush();

  expect(store.rows).toHaveLength(1);
  expect(recorder.counters()).toMatchObject({ recorded: 1, stored: 1, spooled: 0 });
});

it("replays in the next run what the last one could not store, once", async () => {
  const dir = tempDir();
  const first = await start({ dir });
  first.store.mode = "away";
  for (let index = 0; index < 7; index += 1) void first.recorder.ratelimit(ratelimitRow());
  await first.recorder.close();

  const second = await start({ dir });
  await second.recorder.flush();
  await second.recorder.close();
  const third = await start({ dir });
  await third.recorder.flush();

  expect(second.store.rows).toHaveLength(7);
  expect(second.recorder.counters()).toMatchObject({ recovered: 7, stored: 7, recorded: 0 });
  expect(third.store.rows).toHaveLength(0);
});

/** What a process that is killed now leaves behind. */
function leftBy(dir: string): string {
  const copy = tempDir();
  cpSync(dir, copy, { recursive: true });
  return copy;
}

const rowsOf = (table: string) => `${table} ${JSON.stringify(verificationRow())}\n`;

describe("a kill of the process", () => {
  it("loses no row that was waited for", async () => {
    const first = await start({ batchMs: 60_000 });
    const rows = Array.from({ length: 300 }, () => verificationRow());
    await Promise.all(rows.map((row) => first.recorder.verification(row)));
    await first.recorder.ratelimit(ratelimitRow());

    const second = await start({ dir: leftBy(first.dir) });
    await second.recorder.flush();

    expect(second.store.rows).toHaveLength(301);
    expect(second.recorder.counters()).toMatchObject({ recovered: 301, stored: 301 });
  });

  it("while rows go to the spool counts each of them once", async () => {
    const first = await start({ batchMs: 60_000 });
    await first.recorder.verification(verificationRow());
    const dir = leftBy(first.dir);
    await first.recorder.flush();

    const second = await start({ dir, store: first.store });
    await second.recorder.flush();

    expect(first.store.rows).toHaveLength(1);
  });

  it("in the middle of a write loses the row that was not answered alone", async () => {
    const dir = tempDir();
    const whole = rowsOf("key_verifications_v1");
    writeFileSync(path.join(dir, "one.journal"), `${whole}${whole}${whole.slice(0, 90)}`);

    const { recorder, store } = await start({ dir });
    await recorder.flush();

    expect(store.rows).toHaveLength(2);
    expect(journalsIn(dir)).toEqual([]);
  });
});

it("the recorder keeps a journal of what the spool does not take, until the store has it", async () => {
  const first = await start({ batchMs: 60_000, maxBytes: 0 });
  first.store.mode = "away";
  await first.recorder.verification(verificationRow());
  await first.recorder.flush();
  const dir = leftBy(first.dir);
  first.store.mode = "up";
  await first.recorder.flush();

  const second = await start({ dir });
  await second.recorder.flush();

  expect(second.store.rows).toHaveLength(1);
  await waitFor(() => journalsIn(first.dir).length === 0, {
    withinMs: 10_000,
    what: "the journal to be removed",
  });
});

it("the recorder keeps the journal of a killed run for a start at which there is space", async () => {
  const dir = tempDir();
  writeFileSync(path.join(dir, "one.journal"), rowsOf("key_verifications_v1"));
  const first = await start({ dir, maxBytes: 0 });
  await first.recorder.close();

  const second = await start({ dir });
  await second.recorder.flush();

  expect(second.store.rows).toHaveLength(1);
  expect(journalsIn(dir)).toEqual([]);
});

it("the recorder starts beside a journal that cannot be read, and recovers the others", async () => {
  const dir = tempDir();
  mkdirSync(path.join(dir, "a.journal"));
  writeFileSync(path.join(dir, "b.journal"), rowsOf("key_verifications_v1"));

  const { recorder, store } = await start({ dir });
  await recorder.flush();

  expect(store.rows).toHaveLength(1);
  expect(journalsIn(dir)).toEqual(["a.journal"]);
});

it("the recorder keeps no journal of what is in the spool", async () => {
  const { recorder, store, dir } = await start({ batchMs: 60_000 });
  store.mode = "away";
  await recorder.verification(verificationRow());

  await recorder.flush();

  expect(journalsIn(dir)).toEqual([]);
});

it("the recorder holds no answer up for a journal that cannot be written, and stores the row all the same", async () => {
  const { recorder, store, dir } = await start({ batchMs: 60_000 });
  renameSync(dir, `${dir}-away`);

  await recorder.verification(verificationRow());

  renameSync(`${dir}-away`, dir);
  await recorder.flush();
  expect(store.rows).toHaveLength(1);
});

it("the recorder sends from memory what finds no space on disk", async () => {
  const { recorder, store } = await start({ maxBytes: 0 });
  void recorder.verification(verificationRow());

  await recorder.flush();

  expect(store.rows).toHaveLength(1);
});

it("the recorder counts as dropped what finds space neither on disk nor in memory", async () => {
  const { recorder, store } = await start({ maxBytes: 0, maxBufferedRows: 50, batchRows: 500 });
  store.mode = "away";

  for (let index = 0; index < 80; index += 1) void recorder.verification(verificationRow());

  expect(recorder.counters()).toMatchObject({ recorded: 80, buffered: 50, dropped: 30 });
});

it("bounds what waits in memory for a store that is away with a full disk", async () => {
  const { recorder, store } = await start({ maxBytes: 0 });
  store.mode = "away";
  const tags = ["x".repeat(1_000_000)];
  for (let round = 0; round < 40; round += 1) {
    void recorder.verification(verificationRow({ tags }));
    await recorder.flush();
  }

  const counters = recorder.counters();

  expect(counters.dropped).toBeGreaterThan(0);
  expect(counters.buffered).toBeLessThanOrEqual(34);
  expect(balance(counters)).toBe(0);
});

it("drops a batch that the store refuses for good, counted, and goes on with the next", async () => {
  const { recorder, store } = await start({});
  store.mode = "refusing";
  void recorder.verification(verificationRow());
  await recorder.flush();
  store.mode = "up";
  void recorder.verification(verificationRow({ key_id: "key_next" }));

  await recorder.flush();

  expect(store.rows).toEqual([expect.objectContaining({ key_id: "key_next" })]);
  expect(recorder.counters()).toMatchObject({ dropped: 1, stored: 1 });
});

it("the recorder takes text that is no valid Unicode", async () => {
  const { recorder, store } = await start({});
  void recorder.ratelimit(ratelimitRow({ identifier: "broken \ud800 pair" }));

  await recorder.flush();

  expect(store.rows[0]).toMatchObject({ identifier: "broken \ufffd pair" });
});

it("the recorder stops within seconds while the store hangs, and has lost nothing", async () => {
  const { recorder, store } = await start({});
  store.mode = "hanging";
  void recorder.verification(verificationRow());

  await recorder.close();

  expect(recorder.counters()).toMatchObject({ spooled: 1, dropped: 0 });
}, 10_000);

it("accounts for every row under a store that comes and goes", async () => {
  const { recorder, store } = await start({ batchRows: 20, batchMs: 5 });
  const modes = ["up", "away", "answer-lost", "up", "away"] as const;
  for (let round = 0; round < 50; round += 1) {
    store.mode = modes[round % modes.length] ?? "up";
    for (let index = 0; index < 33; index += 1) void recorder.verification(verificationRow());
    await delay(2);
  }
  store.mode = "up";

  await recorder.flush();

  expect(recorder.counters()).toMatchObject({ recorded: 1_650, stored: 1_650, dropped: 0 });
  expect(store.rows).toHaveLength(1_650);
});

it("the recorder sends from memory what a full disk does not take", async () => {
  const store = memoryStore();
  const dir = tempDir();
  const spool = await openSpool({ dir, maxBytes: 1_000 });
  spool.append = () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }));
  const journal = new Journal({ dir, log });
  const outbox = createOutbox({ spool, insert: store.insert, log });
  const recorder = createRecorder({ outbox, journal, log });
  onTestFinished(() => recorder.close());
  void recorder.verification(verificationRow());

  await recorder.flush();

  expect(store.rows).toHaveLength(1);
});
