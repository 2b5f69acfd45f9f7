/** How far the sliding window is from an exact log of what has passed: docs/public-api.md, "Rate limits". */
import { expect, it, onTestFinished } from "vitest";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";

const limit = 100;
const durationMs = 60_000;
/** A window begins here. */
const startMs = 30_000_000 * durationMs;
const calls = 200_000;

function startLimit() {
  const limiter = createLocalLimiter({ maxCells: 1_000 });
  onTestFinished(limiter.close);
  return (nowMs: number) =>
    limiter.take([{ key: "ws_1/caller", limit, durationMs, cost: 1 }], nowMs).passed;
}

/** Numbers from 0 to 1, the same at each run. */
function createRandom(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
}

/** Times of calls that arrive `together`, 10 ms apart, at random moments; `load`: times the limit. */
function arrivals(load: number, together: number): number[] {
  const random = createRandom(17);
  const times: number[] = [];
  const meanMs = (durationMs / limit / load) * together;
  for (let atMs = startMs; times.length < calls; atMs -= Math.log(random()) * meanMs) {
    for (let call = 0; call < together; call += 1) times.push(Math.floor(atMs) + 10 * call);
  }
  return times.sort((one, other) => one - other);
}

/** The times that passed, of those that lie in the last duration. */
function createLog() {
  const times: number[] = [];
  let first = 0;
  return {
    add: (nowMs: number) => times.push(nowMs),
    count: (nowMs: number) => {
      while ((times[first] ?? nowMs) <= nowMs - durationMs) first += 1;
      return times.length - first;
    },
    total: () => times.length,
  };
}

/** In percent: of all decisions, of what an exact log lets pass, and of the limit. */
function compareWithExact(times: readonly number[]) {
  const take = startLimit();
  const ours = createLog();
  const exact = createLog();
  let different = 0;
  let most = 0;
  for (const nowMs of times) {
    const passed = take(nowMs);
    const mayPass = exact.count(nowMs) < limit;
    if (passed) ours.add(nowMs);
    if (mayPass) exact.add(nowMs);
    if (passed !== mayPass) different += 1;
    most = Math.max(most, ours.count(nowMs));
  }
  return {
    different: (100 * different) / times.length,
    more: 100 * (ours.total() / exact.total() - 1),
    beyond: 100 * (most / limit - 1),
  };
}

it.each([
  { load: 0.8, together: 1, different: 0.4, more: 0.2, beyond: 20 },
  { load: 0.9, together: 1, different: 3.0, more: 1.0, beyond: 23 },
  { load: 1, together: 1, different: 8.6, more: 1.7, beyond: 18 },
  { load: 2, together: 1, different: 35.9, more: 0.7, beyond: 6 },
  { load: 0.8, together: 10, different: 11.2, more: 2.8, beyond: 48 },
  { load: 0.8, together: 50, different: 18.5, more: 2.0, beyond: 94 },
])("of $load times the limit, $together together, it passes what the documents say", (row) => {
  const { load, together, ...expected } = row;

  const found = compareWithExact(arrivals(load, together));

  expect(found).toEqual({
    different: expect.closeTo(expected.different, 1),
    more: expect.closeTo(expected.more, 1),
    beyond: expect.closeTo(expected.beyond, 1),
  });
});

it("the limiter passes at worst the limit at once, and as much again evenly over the duration that follows", () => {
  const take = startLimit();
  let again = 0;
  const lastMs = startMs + durationMs - 1;
  for (let call = 0; call < limit; call += 1) expect(take(lastMs)).toBe(true);

  for (let afterMs = 0; afterMs < durationMs; afterMs += 50) {
    while (take(lastMs + 1 + afterMs)) again += 1;
    expect(again - (limit * afterMs) / durationMs).toBeGreaterThanOrEqual(0);
    expect(again - (limit * afterMs) / durationMs).toBeLessThanOrEqual(1);
  }

  expect(again).toBe(limit);
});

it("the limiter refuses at worst for a duration longer, and ever less", () => {
  const passed = [1, 1.25, 1.5, 2].map((durations) => {
    const countAt = startUsedUp();
    return countAt(startMs + durations * durationMs);
  });

  expect(passed).toEqual([0, 25, 50, 100]);
});

/** Of a limit that was used up at the start of a window: how many calls pass at a later moment. */
function startUsedUp() {
  const take = startLimit();
  for (let call = 0; call < limit; call += 1) take(startMs);
  return (nowMs: number) => {
    let passed = 0;
    while (take(nowMs)) passed += 1;
    return passed;
  };
}
