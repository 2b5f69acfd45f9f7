/** What a workspace can do to the counters of others by making counters of its own. */
import fc from "fast-check";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { LimitRequest } from "#api/limiter.ts";
import { createCellMemory } from "#api/ratelimit/limiter/cell-memory.ts";
import { Cells } from "#api/ratelimit/limiter/cells.ts";
import { createLimiterOn, type LocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { SharedCells } from "#api/ratelimit/limiter/shared-cells.ts";
import { startLimiter } from "#api/ratelimit/limiter/start-limiter.ts";
import { createLog } from "#kernel/log.ts";

const startMs = 1_800_000_000_000;
const minuteMs = 60_000;
const dayMs = 86_400_000;
const noSweeps = { sweeps: false };

type Settings = { maxCells: number; parts?: number };

const stores: [string, (settings: Settings) => Cells][] = [
  [
    "of one thread",
    ({ maxCells }) => new Cells(createCellMemory({ maxCells, parts: 1 }), noSweeps),
  ],
  [
    "that threads share",
    ({ maxCells, parts = 1 }) => new SharedCells(createCellMemory({ maxCells, parts }), noSweeps),
  ],
];

/** One limit of a workspace for so many callers, in calls of 100 as `multiLimit` takes them. */
function flood(
  limiter: LocalLimiter,
  {
    workspace = "ws_a",
    callers = 10_000,
    durationMs = minuteMs,
    nowMs = startMs,
    first = 0,
    label = "",
  },
): void {
  for (let caller = first; caller < first + callers; caller += 100) {
    const requests = Array.from({ length: Math.min(100, first + callers - caller) }, (_, one) => ({
      ...{ key: `${workspace}/rlns_1/${label}${caller + one}`, limit: 1, durationMs, cost: 1 },
    }));
    limiter.take(requests, nowMs);
  }
}

const isUsedUp = (limiter: LocalLimiter, request: Partial<LimitRequest>, nowMs = startMs) =>
  !limiter.take([{ key: "", limit: 1, durationMs: dayMs, cost: 1, ...request }], nowMs).passed;

describe.each(stores)("counters %s", (_, create) => {
  it("of a workspace outlive any number of another's", () => {
    const limiter = createLimiterOn(create({ maxCells: 1_000, parts: 4 }));
    const daily = { key: "ws_b/rlns_2/customer", limit: 1, durationMs: dayMs, cost: 1 };
    limiter.take([daily], startMs);

    flood(limiter, { callers: 20_000 });

    expect(isUsedUp(limiter, daily)).toBe(true);
  });

  it("of a workspace outlive another's with names of 512 characters", () => {
    const limiter = createLimiterOn(create({ maxCells: 1_000, parts: 4 }));
    const daily = { key: `ws_b/rlns_2/${"customer".repeat(64)}`, durationMs: dayMs };
    expect(isUsedUp(limiter, daily)).toBe(false);

    flood(limiter, { callers: 20_000, label: "x".repeat(500) });

    expect(isUsedUp(limiter, daily)).toBe(true);
  });

  it("that the installation keeps of a workspace outlive the workspace's own", () => {
    const limiter = createLimiterOn(create({ maxCells: 1_000, parts: 4 }));
    const ofInstallation = ["workspace:ws_a", "analytics:ws_a"].map((key) => ({ key }));
    for (const one of ofInstallation) expect(isUsedUp(limiter, one)).toBe(false);

    flood(limiter, { callers: 20_000 });

    expect(ofInstallation.map((one) => isUsedUp(limiter, one))).toEqual([true, true]);
  });

  it("leave room for a workspace that comes when another has filled them", () => {
    const limiter = createLimiterOn(create({ maxCells: 1_000 }));
    flood(limiter, { callers: 1_000 });

    flood(limiter, { workspace: "ws_b", callers: 300 });
    flood(limiter, { callers: 5_000, first: 1_000 });

    const kept = Array.from({ length: 300 }, (_, caller) => `ws_b/rlns_1/${caller}`).filter(
      (key) => limiter.peek({ key, durationMs: minuteMs, limit: 1, cost: 1 }) !== undefined,
    );
    expect(kept).toHaveLength(300);
    expect(limiter.size()).toBe(1_000);
  });

  it("that are over go before any that still counts", () => {
    const cells = create({ maxCells: 1_000 });
    const limiter = createLimiterOn(cells);
    for (let first = 0; first < 500; first += 10) {
      flood(limiter, { workspace: "ws_b", callers: 10, durationMs: dayMs, first });
      flood(limiter, { workspace: "ws_c", callers: 10, durationMs: 1_000, first });
    }

    flood(limiter, { callers: 400, nowMs: startMs + minuteMs });

    expect(cells.evicted).toEqual({ own: 0, other: 0 });
  });

  it("of a day mostly outlive the same workspace's of a minute", () => {
    const limiter = createLimiterOn(create({ maxCells: 1_000 }));
    flood(limiter, { callers: 300, durationMs: dayMs });

    flood(limiter, { callers: 5_000, first: 1_000 });

    const kept = Array.from({ length: 300 }, (_, caller) => `ws_a/rlns_1/${caller}`).filter(
      (key) => limiter.peek({ key, durationMs: dayMs, limit: 1, cost: 1 }) !== undefined,
    );
    expect(kept.length).toBeGreaterThan(250);
  });

  it("of more workspaces than there is room for stay within it", () => {
    const cells = create({ maxCells: 100, parts: 4 });
    const limiter = createLimiterOn(cells);

    for (let workspace = 0; workspace < 5_000; workspace += 1) {
      flood(limiter, { workspace: `ws_${workspace}`, callers: 1 });
    }

    expect(cells.size).toBe(100);
  });

  it("are counted when they go too early, by who needed the room", () => {
    const cells = create({ maxCells: 1_000 });
    const limiter = createLimiterOn(cells);
    flood(limiter, { callers: 1_010 });
    flood(limiter, { workspace: "ws_b", callers: 5 });

    expect(cells.evicted).toEqual({ own: 10, other: 5 });
  });

  it("only ever go from a workspace that has the most, its own first", () => {
    const steps = fc.array(
      fc.record({
        workspace: fc.integer({ min: 0, max: 5 }),
        caller: fc.integer({ min: 0, max: 20 }),
        durationMs: fc.constantFrom(1_000, minuteMs, dayMs),
        waitMs: fc.constantFrom(0, 0, 10, 3_000),
      }),
      { maxLength: 150 },
    );
    fc.assert(
      fc.property(steps, (given) => {
        const put = createWitness(create({ maxCells: 16 }));
        let nowMs = startMs;
        for (const step of given) {
          nowMs += step.waitMs;
          const { counts, lost, size } = put(step, nowMs);
          const most = Math.max(0, ...counts.values());
          for (const workspace of lost) expect(counts.get(workspace)).toBe(most);
          const isOwn = (counts.get(step.workspace) ?? 0) === most;
          if (isOwn) expect(lost.filter((workspace) => workspace !== step.workspace)).toEqual([]);
          expect(lost.length).toBeLessThanOrEqual(1);
          expect(size).toBeLessThanOrEqual(16);
        }
      }),
      { numRuns: 300, seed: 20_261_127 },
    );
  });
});

type Put = { workspace: number; caller: number; durationMs: number };

/** Puts counters, and says whose were lost by each that a window still needed; `counts`: before, with the expired ones. */
function createWitness(cells: Cells) {
  const known = new Map<string, { workspace: number; endsMs: number }>();
  return ({ workspace, caller, durationMs }: Put, nowMs: number) => {
    const counts = new Map<number, number>();
    for (const one of known.values()) {
      counts.set(one.workspace, (counts.get(one.workspace) ?? 0) + 1);
    }
    const name = `${durationMs}/ws_${workspace}/${caller}`;
    const sequence = Math.floor(nowMs / durationMs);
    cells.put(name, { sequence, current: 1, previous: 0 }, durationMs);
    known.set(name, { workspace, endsMs: (sequence + 2) * durationMs });
    const gone = [...known].filter(([one]) => cells.get(one) === undefined);
    for (const [one] of gone) known.delete(one);
    const lost = gone.filter(([, { endsMs }]) => endsMs > nowMs).map(([, one]) => one.workspace);
    expect(cells.size).toBe(known.size);
    return { counts, lost, size: cells.size };
  };
}

it("a limiter shows in its metrics what it had no room for", async () => {
  const registry = new Registry();
  const cells = new Cells(createCellMemory({ maxCells: 100, parts: 1 }), noSweeps);
  const log = createLog({ level: "silent", format: "json" });
  const limiter = await startLimiter({ redisUrl: "", log, registry, cells });
  for (let caller = 0; caller < 103; caller += 1) {
    await limiter.take(
      [{ key: `ws_a/1/${caller}`, limit: 1, durationMs: 1_000, cost: 1 }],
      startMs,
    );
  }

  const text = await registry.metrics();

  expect(text).toContain('vedette_api_ratelimit_counters_evicted_total{for="own"} 3');
  expect(text).toContain('vedette_api_ratelimit_counters_evicted_total{for="other"} 0');
});
