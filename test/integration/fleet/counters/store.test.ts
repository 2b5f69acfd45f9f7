/** Minutes of counts, stored in a real Postgres. */
import { expect, it } from "vitest";
import { type Counters, countMinute } from "#fleet/counters/counters.ts";
import { createCountStore } from "#fleet/counters/store.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

const minute = 60_000;
const start = Date.parse("2026-11-28T12:00:00Z");

const snapshot = (counts: Record<string, number>) =>
  new Map<string, Counters>(
    Object.entries(counts).map(([id, requests]) => [
      id,
      { requests, errors: requests / 10, latency: { "0.1": requests / 2, "0.2": requests - 1 } },
    ]),
  );

/** Stores a minute in which each sentinel has had so many requests. */
async function storeMinute(at: number, counts: Record<string, number>, bounds = [0.1, 0.2]) {
  const store = createCountStore(database());
  const zero = snapshot(Object.fromEntries(Object.keys(counts).map((id) => [id, 0])));
  expect(await store.claim("singleton", at)).toBe(true);
  await store.write("singleton", at, countMinute(zero, snapshot(counts), bounds));
}

it("minutes are read as they were written, one span after the other, with gaps not reported", async () => {
  const store = createCountStore(database());
  await storeMinute(start, { a: 10, b: 20 });
  await storeMinute(start + 2 * minute, { a: 30 }, [0.2, 0.1]);
  await storeMinute(start + 9 * minute, { a: 40, b: 50 });

  const spans = [
    { from: start, to: start + 3 * minute },
    { from: start + 9 * minute, to: start + 60 * minute },
  ];
  const read = await store.read("singleton", { ids: ["b", "a", "c"], spans, boundAt: start });

  const [b, a, c] = read.sentinels;
  expect(read.first).toBe(start);
  expect([...(a?.requests ?? [])]).toEqual([10, Number.NaN, 30, 40]);
  expect([...(a?.errors ?? [])]).toEqual([1, Number.NaN, 3, 4]);
  expect([...(a?.slow ?? [])]).toEqual([5, Number.NaN, 15, 20]);
  expect([...(b?.requests ?? [])]).toEqual([20, Number.NaN, Number.NaN, 50]);
  expect([...(c?.requests ?? [])]).toEqual(Array(4).fill(Number.NaN));
});

it("slow requests are those above the first bound that the fleet's durations have given", async () => {
  const store = createCountStore(database());
  for (const [n, bounds] of [[0], [0], [0.1, 0.2], [0.2, 0.1]].entries())
    await storeMinute(start + (100 + n) * minute, { a: 10 }, bounds);

  const spans = [{ from: start + 100 * minute, to: start + 104 * minute }];
  const { sentinels } = await store.read("singleton", {
    ...{ ids: ["a"], spans, boundAt: start + 100 * minute },
  });

  expect([...(sentinels[0]?.slow ?? [])]).toEqual([Number.NaN, Number.NaN, 5, 5]);
});

it("of two processes one has a minute, and minutes of more than two days before are deleted, also of fleets that are gone", async () => {
  const store = createCountStore(database());
  const later = start + 3 * 24 * 60 * minute;

  expect(await Promise.all([store.claim("edge", start), store.claim("edge", start)])).toEqual(
    expect.arrayContaining([true, false]),
  );
  await store.claim("gone-by-now", start);
  await store.claim("edge", later);

  const { rows } = await database().query(
    "SELECT fleet, minute FROM sentinel_counts WHERE fleet IN ('edge', 'gone-by-now')",
  );
  expect(rows).toEqual([{ fleet: "edge", minute: new Date(later) }]);
});
