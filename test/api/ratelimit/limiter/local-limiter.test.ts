import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LimitRequest } from "#api/limiter.ts";
import { createCellMemory } from "#api/ratelimit/limiter/cell-memory.ts";
import {
  createLimiterOn,
  createLocalLimiter,
  type LocalLimiter,
} from "#api/ratelimit/limiter/local-limiter.ts";
import { SharedCells } from "#api/ratelimit/limiter/shared-cells.ts";
import { createLimitModel, limitSteps } from "../../../support/api/limit-model.ts";

const seed = 20_261_121;

/** The first millisecond of a window of every duration that is used here. */
const startMs = 1_800_000_000_000;

const request = (over: Partial<LimitRequest> = {}): LimitRequest => ({
  key: "ws_1/ns_1/caller",
  limit: 10,
  durationMs: 60_000,
  cost: 1,
  ...over,
});

type Create = (settings?: { maxCells?: number }) => LocalLimiter;

const createShared: Create = ({ maxCells = 1_000 } = {}) => {
  // What threads share is full when one of its parts is.
  const memory = createCellMemory({ maxCells, parts: maxCells < 1_000 ? 1 : 4 });
  return createLimiterOn(new SharedCells(memory, { sweeps: false }));
};

const limiters: [string, Create][] = [
  ["of one thread", ({ maxCells = 1_000 } = {}) => createLocalLimiter({ maxCells })],
  ["of counters that threads share", createShared],
];

describe.each(limiters)("the sliding window %s", (_, create) => {
  it("counts as the slow model does, whatever batches come when", () => {
    fc.assert(
      fc.property(limitSteps, (steps) => {
        const limiter = create();
        const model = createLimitModel();
        let nowMs = startMs;

        for (const { waitMs, requests } of steps) {
          nowMs += waitMs;
          expect(limiter.take(requests, nowMs)).toEqual(model(requests, nowMs));
        }
      }),
      { numRuns: 500, seed },
    );
  });

  it("never lets more than the limit pass in one window", () => {
    const waits = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 100 });

    fc.assert(
      fc.property(waits, fc.integer({ min: 1, max: 5 }), (waitsMs, limit) => {
        const limiter = create();
        const perWindow = new Map<number, number>();
        let nowMs = startMs;

        for (const waitMs of waitsMs) {
          nowMs += waitMs;
          if (!limiter.take([request({ limit })], nowMs).passed) continue;
          const window = Math.floor(nowMs / 60_000);
          perWindow.set(window, (perWindow.get(window) ?? 0) + 1);
        }

        expect(Math.max(0, ...perWindow.values())).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 300, seed },
    );
  });

  it("tells callers with long names apart", () => {
    const limiter = create();
    const named = (end: string) => request({ key: `ws_1/ns_1/${"a".repeat(500)}${end}`, limit: 1 });
    limiter.take([named("1")], startMs);

    expect(limiter.take([named("1")], startMs).passed).toBe(false);
    expect(limiter.take([named("2")], startMs).passed).toBe(true);
  });

  it("gives back with time what the window before has used", () => {
    const limiter = create();
    limiter.take([request({ cost: 10 })], startMs);

    const remaining = [60_000, 75_000, 90_000, 120_000].map(
      (afterMs) => limiter.take([request({ cost: 0 })], startMs + afterMs).answers[0]?.remaining,
    );

    expect(remaining).toEqual([0, 3, 5, 10]);
  });

  it("counts a call that comes late in the window that has begun meanwhile", () => {
    const limiter = create();
    const passAt = (ms: number) =>
      Array.from({ length: 200 }, () =>
        limiter.take([request({ limit: 100 })], startMs + ms),
      ).filter(({ passed }) => passed).length;
    expect(passAt(59_999)).toBe(100);
    expect(passAt(75_000)).toBe(25);

    expect(passAt(59_999)).toBe(0);

    expect(passAt(75_000)).toBe(0);
  });

  it("keeps the larger count of its own and another limiter's", () => {
    const limiter = create();
    const sequence = startMs / 60_000;
    for (let call = 0; call < 5; call += 1) limiter.take([request()], startMs);

    limiter.learn(request(), { sequence, current: 3, previous: 9 });
    expect(limiter.peek(request())).toMatchObject({ sequence, current: 5, previous: 9 });

    limiter.learn(request(), { sequence: sequence + 1, current: 1, previous: 2 });
    expect(limiter.peek(request())).toMatchObject({
      sequence: sequence + 1,
      current: 1,
      previous: 5,
    });
  });

  it("tells the end of the window", () => {
    const { answers } = create().take([request()], startMs + 1_234);

    expect(answers[0]?.resetMs).toBe(startMs + 60_000);
  });
});

describe.each(limiters)("a batch %s", (_, create) => {
  it("that asks twice about one limit counts both", () => {
    const limiter = create();

    const taken = limiter.take([request({ cost: 4 }), request({ cost: 5 })], startMs);

    expect(taken.passed).toBe(true);
    expect(taken.answers.map(({ remaining }) => remaining)).toEqual([6, 1]);
  });

  it("that asks twice for more than there is counts nothing", () => {
    const limiter = create();

    const refused = limiter.take([request({ cost: 6 }), request({ cost: 5 })], startMs);
    const after = limiter.take([request({ cost: 10 })], startMs);

    expect(refused.answers).toMatchObject([
      { passed: true, remaining: 10 },
      { passed: false, remaining: 0 },
    ]);
    expect(after.passed).toBe(true);
  });

  it("takes one key with two durations for two limits", () => {
    const limiter = create();
    limiter.take([request({ cost: 10 })], startMs);

    const other = limiter.take([request({ durationMs: 1_000, cost: 10 })], startMs);

    expect(other.passed).toBe(true);
  });
});

describe.each(limiters)("a limit %s", (_, create) => {
  it("of 0 blocks, also who only looks", () => {
    const limiter = create();

    const costs = [0, 1].map((cost) => limiter.take([request({ limit: 0, cost })], startMs).passed);

    expect(costs).toEqual([false, false]);
  });

  it("is not touched by who only looks", () => {
    const limiter = create();

    const looked = limiter.take([request({ cost: 0 })], startMs);

    expect(looked.answers).toMatchObject([{ passed: true, remaining: 10 }]);
    expect(limiter.size()).toBe(0);
  });

  it("is not touched by who is refused", () => {
    const limiter = create();

    limiter.take([request({ cost: 11 })], startMs);

    expect(limiter.size()).toBe(0);
  });
});

describe.each(limiters)("the memory %s", (_, create) => {
  it("is bounded: the oldest counter goes first", () => {
    const limiter = create({ maxCells: 100 });

    for (let caller = 0; caller < 1_000; caller += 1) {
      limiter.take([request({ key: `caller ${caller}`, limit: 1 })], startMs);
    }

    const again = (caller: number) =>
      limiter.take([request({ key: `caller ${caller}`, limit: 1 })], startMs).passed;
    expect(limiter.size()).toBe(100);
    expect(again(999)).toBe(false);
    expect(again(0)).toBe(true);
  });

  it("forgets what is over before what still counts", () => {
    const limiter = create({ maxCells: 2 });
    const old = request({ key: "old", durationMs: 1_000 });
    const kept = request({ key: "kept", limit: 1, durationMs: 600_000 });
    limiter.take([kept], startMs);
    limiter.take([old], startMs);

    limiter.take([request({ key: "new" })], startMs + 60_000);

    expect(limiter.peek(old)).toBeUndefined();
    expect(limiter.take([kept], startMs + 60_000).passed).toBe(false);
  });
});
