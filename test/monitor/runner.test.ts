/** A runner at a further place, its time being the test's. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createLog } from "#kernel/log.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { gridOf, nextTick } from "#monitor/grid.ts";
import { startRunner } from "#monitor/runner.ts";
import { aCheckResult, anApiCheck } from "../support/check-builders.ts";

const check = anApiCheck({ id: "probe" });
const log = createLog({ level: "silent", format: "json" });

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The gateway's clock is `aheadMs` ahead of the runner's. */
async function startBench(aheadMs = 0) {
  const gateway = {
    checks: [check] as ApiCheck[],
    isAway: false,
    aheadMs,
    results: [] as CheckResult[],
  };
  const runs: { check: string; tickMs: number; atMs: number }[] = [];
  const runner = await startRunner({
    askForWork: async () => {
      if (gateway.isAway) throw new Error("connection refused");
      const now_ms = Date.now() + gateway.aheadMs;
      return { location: "fra", now_ms, base_url: "https://a.example", checks: gateway.checks };
    },
    report: async (results) => {
      if (gateway.isAway) throw new Error("connection refused");
      gateway.results.push(...results);
    },
    run: async ({ id }, { scheduledAtMs }) => {
      runs.push({ check: id, tickMs: scheduledAtMs, atMs: Date.now() });
      return aCheckResult({ checkId: id, scheduledAtMs });
    },
    log,
    nowMs: Date.now,
  });
  return { gateway, runs, runner, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

it("runs each tick of the grid once and reports it", async () => {
  const { gateway, runs, pass, runner } = await startBench();

  await pass(180_000);
  await runner.stop();

  const [first] = runs;
  expect(runs.map(({ tickMs }) => tickMs)).toEqual(
    [0, 1, 2].map((n) => (first?.tickMs ?? 0) + n * 60_000),
  );
  expect(runs.every(({ tickMs, atMs }) => tickMs === atMs)).toBe(true);
  expect(gateway.results).toHaveLength(3);
});

it("keeps to the gateway's clock when its own is wrong", async () => {
  const { runs, pass, runner } = await startBench(25_000);
  const firstMs = nextTick(gridOf(check), Date.now() + 25_000);

  await pass(60_000);
  await runner.stop();

  expect(runs).toEqual([{ check: "probe", tickMs: firstMs, atMs: firstMs - 25_000 }]);
});

it("runs no tick twice when the gateway's clock goes back", async () => {
  const { gateway, runs, pass, runner } = await startBench();
  await pass(60_000);

  gateway.aheadMs = -30_000;
  await pass(120_000);
  await runner.stop();

  const ticks = runs.map(({ tickMs }) => tickMs);
  expect(new Set(ticks).size).toBe(ticks.length);
});

it("takes up new checks, drops those that are gone, and leaves the others alone", async () => {
  const { gateway, runs, pass, runner } = await startBench();
  await pass(60_000);

  gateway.checks = [anApiCheck({ id: "other" })];
  await pass(20_000);
  runs.length = 0;
  await pass(120_000);
  await runner.stop();

  expect(runs.map((run) => run.check)).toEqual(["other", "other"]);
});

it("goes on while the gateway is away, and reports everything afterwards, in order", async () => {
  const { gateway, runs, pass, runner } = await startBench();
  gateway.isAway = true;
  await pass(300_000);

  gateway.isAway = false;
  await pass(60_000);
  await runner.stop();

  expect(gateway.results.map(({ scheduledAtMs }) => scheduledAtMs)).toEqual(
    runs.map(({ tickMs }) => tickMs),
  );
  expect(runs).toHaveLength(6);
});

it("does not start when the gateway does not answer", async () => {
  const askForWork = () => Promise.reject(new Error("connection refused"));
  const parts = { askForWork, report: async () => {}, log, nowMs: Date.now };

  await expect(startRunner({ ...parts, run: async () => aCheckResult() })).rejects.toThrow(
    "connection refused",
  );
});
