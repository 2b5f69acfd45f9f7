/** Caches of several threads: each has its own access to the memory that they share. */
import { expect, it, onTestFinished } from "vitest";
import { LiveCache } from "#api/cache/live-cache.ts";
import {
  createInvalidationMemory,
  createInvalidationRelay,
  createThreadInvalidations,
  type InvalidationMemory,
} from "#api/cache/thread-invalidations.ts";
import { inThreads } from "../../support/threads.ts";

/** Two threads' caches of one table. */
function start() {
  const memory = createInvalidationMemory();
  const relay = createInvalidationRelay(memory);
  relay.onReceived(performance.now());
  const table = new Map([["a", 1]]);
  const state = { loads: 0, gate: Promise.resolve() };
  const load = async (name: string) => {
    state.loads += 1;
    const value = table.get(name);
    await state.gate;
    return value === undefined ? undefined : { name, value };
  };
  const one = startCache(memory, load);
  const other = startCache(memory, load);
  return { relay, table, state, one, other };
}

type Load = (name: string) => Promise<{ name: string; value: number } | undefined>;

function startCache(memory: InvalidationMemory, load: Load) {
  const invalidations = createThreadInvalidations(memory);
  onTestFinished(invalidations.close);
  const tagsOf = ({ name }: { name: string }) => [`key:${name}` as const];
  const cache = new LiveCache({ load, tagsOf, invalidations, maxEntries: 10 });
  return { cache, invalidations };
}

it("what one thread has changed, the next look of another one knows", async () => {
  const { table, one, other } = start();
  expect(await one.cache.get("a")).toMatchObject({ value: 1 });
  expect(await other.cache.get("a")).toMatchObject({ value: 1 });

  table.set("a", 2);
  one.invalidations.apply(["key:a"]);

  const found = other.cache.get("a");
  expect(found).toBeInstanceOf(Promise);
  expect(await found).toMatchObject({ value: 2 });
  expect(await one.cache.get("a")).toMatchObject({ value: 2 });
});

it("another thread finds a record that was missing before", async () => {
  const { table, one, other } = start();
  expect(await other.cache.get("b")).toBeUndefined();

  table.set("b", 1);
  one.invalidations.apply(["new:b"]);

  expect(await other.cache.get("b")).toMatchObject({ value: 1 });
});

it("the cache does not store what was read before a change of another thread", async () => {
  const { table, state, one, other } = start();
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  const before = other.cache.get("a");

  table.set("a", 2);
  one.invalidations.apply(["key:a"]);
  gate.resolve();

  expect(await before).toMatchObject({ value: 1 });
  expect(await other.cache.get("a")).toMatchObject({ value: 2 });
});

it("hears of changes of other processes by the thread that listens", async () => {
  const { relay, table, one, other } = start();
  for (const { cache } of [one, other]) await cache.get("a");

  table.set("a", 3);
  relay.onStale(["key:a"]);

  for (const { cache } of [one, other]) expect(await cache.get("a")).toMatchObject({ value: 3 });
});

it("trusts no record once nothing is received any more, whatever thread asks", () => {
  const memory = createInvalidationMemory();
  const invalidations = createThreadInvalidations(memory);
  onTestFinished(invalidations.close);
  expect(invalidations.isLive()).toBe(false);

  const nowMs = performance.now();
  createInvalidationRelay(memory).onReceived(nowMs);

  expect(invalidations.isLive(nowMs + 899)).toBe(true);
  expect(invalidations.isLive(nowMs + 901)).toBe(false);
});

it("all threads have one clock", async () => {
  const memory = createInvalidationMemory();
  createInvalidationRelay(memory).onReceived(performance.now());
  const source = `
    import { createThreadInvalidations } from "#api/cache/thread-invalidations.ts";
    export default (memory) => {
      const invalidations = createThreadInvalidations(memory);
      const isLiveNow = invalidations.isLive();
      const isLiveLater = invalidations.isLive(performance.now() + 10_000);
      return [isLiveNow, isLiveLater];
    };
  `;

  // A thread's own performance.now() begins at its start.
  const before = performance.now();
  const answers = await inThreads<InvalidationMemory, boolean[]>(1, source, memory);

  if (performance.now() - before < 900) expect(answers).toEqual([[true, false]]);
  else expect(answers[0]?.[1]).toBe(false);
});
