/** Rows that wait on disk while the store rests, and those that start it. */
import { expect, it, onTestFinished } from "vitest";
import type { RecordedTable } from "#api/analytics/batch.ts";
import { createOutbox } from "#api/analytics/recording/outbox.ts";
import { openSpool } from "#api/analytics/recording/spool.ts";
import { createLog } from "#kernel/log.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const log = createLog({ level: "silent", format: "json" });

async function open(dir = tempDir()) {
  const store = { isResting: true, tokens: [] as string[] };
  const outbox = createOutbox({
    spool: await openSpool({ dir, maxBytes: 1_000_000 }),
    insert: async ({ token }) => void store.tokens.push(token),
    isResting: () => store.isResting,
    log,
  });
  onTestFinished(outbox.close);
  const take = (token: string, table: RecordedTable = "ratelimits_v1", rows = 1) =>
    outbox.take({ token, table, rows, body: Buffer.from(`${"{}\n".repeat(rows)}`) });
  return { outbox, store, take, dir };
}

it("a few decisions of limits do not start a store that rests", async () => {
  const { outbox, store, take } = await open();
  for (const token of ["a", "b", "c"]) await take(token);

  await outbox.drain();

  expect(store.tokens).toEqual([]);
  expect(outbox.counters()).toMatchObject({ spooled: 3, stored: 0 });
});

it("they are stored once something else has started it", async () => {
  const { outbox, store, take } = await open();
  await take("a");
  store.isResting = false;

  await outbox.drain();

  expect(store.tokens).toEqual(["a"]);
});

it.each([
  ["a verification", "key_verifications_v1", 1],
  ["thirty decisions", "ratelimits_v1", 29],
] as const)("%s start it, and all that waits is stored", async (_what, table, rows) => {
  const { outbox, store, take } = await open();
  await take("first");
  await outbox.drain();

  await take("more", table, rows);
  await outbox.drain();

  expect(store.tokens).toEqual(["first", "more"]);
});

it("a verification that a killed run has left starts it; decisions of limits wait on", async () => {
  const dir = tempDir();
  const killed = await openSpool({ dir, maxBytes: 1_000_000 });
  const row = { rows: 1, body: Buffer.from("{}\n") };
  await killed.append({ token: "limit", table: "ratelimits_v1", ...row });
  await killed.close();
  const first = await open(dir);
  await first.outbox.drain();
  await first.outbox.close();
  const next = await openSpool({ dir, maxBytes: 1_000_000 });
  await next.append({ token: "key", table: "key_verifications_v1", ...row });
  await next.close();

  const second = await open(dir);
  await second.outbox.drain();

  expect(first.store.tokens).toEqual([]);
  expect(second.store.tokens).toEqual(["limit", "key"]);
});
