import { afterEach, describe, expect, it, vi } from "vitest";
import type { Stale } from "#api/cache/invalidation.ts";
import { type KeyRecord, tagsOfKey } from "#api/cache/key-record.ts";
import { LiveCache } from "#api/cache/live-cache.ts";
import { createMissGuard } from "#api/cache/miss-guard.ts";
import { buildKeyRecord } from "../../support/api/key-builders.ts";

/** A database of keys by hash, and a line to it that can be cut. A key named "heavy" is ten. */
function setUp(...records: (readonly [string, KeyRecord])[]) {
  const rows = new Map(records);
  let tell: (stale: Stale | undefined) => void = () => {};
  const state = { isLive: true, isReachable: true, loads: 0, gate: Promise.resolve() };
  const load = async (keyHash: string) => {
    state.loads += 1;
    if (!state.isReachable) throw new Error("connection refused");
    const record = rows.get(keyHash);
    await state.gate;
    return record;
  };
  const cache = new LiveCache({
    load,
    tagsOf: tagsOfKey,
    maxEntries: 10,
    guard: createMissGuard(),
    weightOf: ({ name }) => (name === "heavy" ? 10 : name === "heavier" ? 11 : 1),
    invalidations: {
      isLive: () => state.isLive,
      subscribe: (listener) => {
        tell = listener;
      },
    },
  });
  return { cache, rows, state, tell: (stale?: Stale) => tell(stale) };
}

describe("a live cache", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("asks the database once for a key that is used often", async () => {
    const { cache, state } = setUp(["h1", buildKeyRecord()]);

    await cache.get("h1");
    const again = cache.get("h1");

    expect(again).toMatchObject({ id: "key_1" });
    expect(state.loads).toBe(1);
  });

  it("keeps fewer keys when some are heavy", async () => {
    const { cache, state } = setUp(
      ["h1", buildKeyRecord()],
      ["h2", buildKeyRecord({ name: "heavy" })],
    );
    await cache.get("h1");
    await cache.get("h2");

    await cache.get("h1");

    expect(state.loads).toBe(3);
  });

  it("forgets the keys first that were not used since others came", async () => {
    const hashes = Array.from({ length: 10 }, (_, n) => `h${n}`);
    const more = Array.from({ length: 30 }, (_, n) => `more${n}`);
    const all = [...hashes, ...more].map((hash) => [hash, buildKeyRecord()] as const);
    const { cache, state } = setUp(...all);
    for (const hash of hashes) await cache.get(hash);

    for (const hash of more) {
      await cache.get("h0");
      await cache.get(hash);
    }

    expect(state.loads).toBe(40);
    await cache.get("more29");
    await cache.get("more22");
    expect(state.loads).toBe(40);
    await cache.get("h1");
    expect(state.loads).toBe(41);
  });

  it("keeps nothing that is heavier than all it may keep", async () => {
    const { cache, state } = setUp(["h1", buildKeyRecord({ name: "heavier" })]);
    await cache.get("h1");

    const again = await cache.get("h1");

    expect(again).toMatchObject({ id: "key_1" });
    expect(state.loads).toBe(2);
  });

  it("asks once for all who wait for the same key", async () => {
    const { cache, state } = setUp(["h1", buildKeyRecord()]);

    await Promise.all([cache.get("h1"), cache.get("h1"), cache.get("h1")]);

    expect(state.loads).toBe(1);
  });

  it.each<Stale>(["key:key_1", "keySpace:ks_1", "workspace:ws_1", "identity:id_1"])(
    "forgets a key at once when %s is stale",
    async (stale) => {
      const { cache, rows, tell } = setUp(["h1", buildKeyRecord({ identity: {} })]);
      await cache.get("h1");
      rows.set("h1", buildKeyRecord({ isEnabled: false }));

      tell(stale);

      expect(await cache.get("h1")).toMatchObject({ isEnabled: false });
    },
  );

  it("asks once for all who wait for the same key behind others", async () => {
    const hashes = Array.from({ length: 600 }, (_, n) => `h${n}`);
    const { cache, state } = setUp(...hashes.map((hash) => [hash, buildKeyRecord()] as const));
    const gate = Promise.withResolvers<void>();
    state.gate = gate.promise;

    const found = [0, 1, 2].flatMap(() => hashes.map((hash) => cache.get(hash, () => ["1.2.3.4"])));
    gate.resolve();
    const records = await Promise.all(found);

    expect(records.every((record) => record !== undefined)).toBe(true);
    expect(state.loads).toBe(600);
  });

  it("keeps a key when something else is stale", async () => {
    const { cache, state, tell } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");

    tell("key:key_2");
    await cache.get("h1");

    expect(state.loads).toBe(1);
  });

  it("does not keep what became stale while it was loaded", async () => {
    const { cache, rows, state, tell } = setUp(["h1", buildKeyRecord()]);
    const gate = Promise.withResolvers<void>();
    state.gate = gate.promise;
    const loading = cache.get("h1");
    rows.set("h1", buildKeyRecord({ isEnabled: false }));

    tell("key:key_1");
    gate.resolve();
    await loading;

    expect(await cache.get("h1")).toMatchObject({ isEnabled: false });
  });

  it("asks for a key that it knew without a look at the budget of who asks", async () => {
    const { cache, state, tell } = setUp(["h1", buildKeyRecord()]);
    const asker = () => ["198.51.100.7"] as const;
    await cache.get("h1", asker);
    for (let guess = 0; guess < 200; guess += 1) await cache.get(`guess-${guess}`, asker);
    const gate = Promise.withResolvers<void>();
    state.gate = gate.promise;
    const guesses = Array.from({ length: 300 }, (_, guess) => cache.get(`more-${guess}`, asker));
    const refusals = Promise.allSettled(guesses);
    tell("key:key_1");

    const both = Promise.all([cache.get("h1", asker), cache.get("h1", asker)]);
    gate.resolve();

    expect(await both).toMatchObject([{ id: "key_1" }, { id: "key_1" }]);
    expect((await refusals).some(({ status }) => status === "rejected")).toBe(true);
  });

  it("gives what was read before a change to nobody who asks after it", async () => {
    const { cache, rows, state, tell } = setUp(["h1", buildKeyRecord()]);
    const gate = Promise.withResolvers<void>();
    state.gate = gate.promise;
    const before = cache.get("h1");
    rows.set("h1", buildKeyRecord({ isEnabled: false }));
    tell("key:key_1");

    const after = cache.get("h1");
    gate.resolve();

    expect(await after).toMatchObject({ isEnabled: false });
    expect(await before).toMatchObject({ isEnabled: true });
  });

  it("believes what it has cached for a quarter of a second while it cannot hear of changes", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { cache, rows, state } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");
    rows.set("h1", buildKeyRecord({ isEnabled: false }));
    state.isLive = false;

    vi.advanceTimersByTime(249);
    const young = await cache.get("h1");
    vi.advanceTimersByTime(1);

    expect(young).toMatchObject({ isEnabled: true });
    expect(await cache.get("h1")).toMatchObject({ isEnabled: false });
  });

  it("loads a key anew after some minutes, whether or not it heard of a change", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { cache, rows, state } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");
    rows.set("h1", buildKeyRecord({ isEnabled: false }));

    vi.advanceTimersByTime(239_000);
    const before = await cache.get("h1");
    vi.advanceTimersByTime(121_000);

    expect(before).toMatchObject({ isEnabled: true });
    expect(await cache.get("h1")).toMatchObject({ isEnabled: false });
    expect(state.loads).toBe(2);
  });

  it("goes on with a key that is due to be loaded anew while the database is away", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { cache, state } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");
    state.isReachable = false;

    vi.advanceTimersByTime(360_000);

    expect(await cache.get("h1")).toMatchObject({ id: "key_1" });
  });

  it("loads everything anew after it could not hear", async () => {
    const { cache, rows, tell } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");
    rows.set("h1", buildKeyRecord({ isEnabled: false }));

    tell(undefined);

    expect(await cache.get("h1")).toMatchObject({ isEnabled: false });
  });

  it("answers by what it knew while the database is away, and asks again afterwards", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { cache, rows, state } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");
    vi.advanceTimersByTime(250);
    Object.assign(state, { isLive: false, isReachable: false });

    expect(await cache.get("h1")).toMatchObject({ isEnabled: true });
    expect(cache.counters.outage).toBe(1);

    Object.assign(state, { isLive: true, isReachable: true });
    rows.delete("h1");
    expect(cache.get("h1")).toMatchObject({ isEnabled: true });
  });

  it("answers by what it knew for ten minutes of an outage, and not for longer", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { cache, state } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");
    vi.advanceTimersByTime(250);
    Object.assign(state, { isLive: false, isReachable: false });
    await cache.get("h1");

    vi.advanceTimersByTime(10 * 60_000);
    const afterTenMinutes = await cache.get("h1");
    vi.advanceTimersByTime(1);

    expect(afterTenMinutes).toMatchObject({ id: "key_1" });
    await expect(cache.get("h1")).rejects.toThrow("connection refused");
  });

  it("fails as what is away when a database that stands still outlasts what was known", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const { cache, state } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");
    Object.assign(state, { isLive: false, gate: new Promise(() => {}) });
    vi.advanceTimersByTime(250);
    const first = cache.get("h1");
    await vi.advanceTimersByTimeAsync(1_000);
    await first;

    vi.advanceTimersByTime(10 * 60_000 + 1);
    const last = expect(cache.get("h1")).rejects.toThrow(/timeout/);
    await vi.advanceTimersByTimeAsync(1_000);

    await last;
  });

  it("does not answer by what it knows to be wrong, even in an outage", async () => {
    const { cache, state, tell } = setUp(["h1", buildKeyRecord()]);
    await cache.get("h1");
    tell("key:key_1");
    state.isReachable = false;

    await expect(cache.get("h1")).rejects.toThrow("connection refused");
  });

  it("fails for a key it does not know while the database is away", async () => {
    const { cache, state } = setUp();
    state.isReachable = false;

    await expect(cache.get("h1")).rejects.toThrow("connection refused");
  });

  it("remembers an unknown hash, and finds the key as soon as anything changed", async () => {
    const { cache, rows, state, tell } = setUp();
    await cache.get("h1");
    await cache.get("h1");
    const loads = state.loads;
    rows.set("h1", buildKeyRecord());

    tell("key:key_1");

    expect(loads).toBe(1);
    expect(await cache.get("h1")).toMatchObject({ id: "key_1" });
  });
});
