/** A runner at a further place, its time being the test's. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createLog } from "#kernel/log.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { startRunner } from "#monitor/locations/runner.ts";
import { gridOf, nextTick } from "#monitor/rules/grid.ts";
import { aCheckResult, anApiCheck } from "../../support/monitor/check-builders.ts";

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
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
    answersAfterMs: 0,
    aheadMs,
    results: [] as CheckResult[],
  };
  const runs: { check: string; tickMs: number; atMs: number }[] = [];
  const runner = await startRunner({
    fetchWork: async () => {
      if (gateway.isAway) throw new Error("connection refused");
      const now_ms = Date.now() + gateway.aheadMs;
      if (gateway.answersAfterMs > 0) await delay(gateway.answersAfterMs);
      return {
        location: "fra",
        now_ms,
        base_url: "https://a.example",
        services: [],
        checks: gateway.checks,
      };
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

it("the runner runs each tick of the grid once and reports it", async () => {
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

it("the runner keeps to the gateway's clock when its own is wrong", async () => {
  const { runs, pass, runner } = await startBench(25_000);
  const firstMs = nextTick(gridOf(check), Date.now() + 25_000);

  await pass(60_000);
  await runner.stop();

  expect(runs).toEqual([{ check: "probe", tickMs: firstMs, atMs: firstMs - 25_000 }]);
});

it("the runner runs no tick twice when the gateway's clock is set back", async () => {
  const { gateway, runs, pass, runner } = await startBench();
  await pass(60_000);

  gateway.aheadMs = -30_000;
  await pass(120_000);
  await runner.stop();

  const ticks = runs.map(({ tickMs }) => tickMs);
  expect(new Set(ticks).size).toBe(ticks.length);
});

it.each([
  ["own clock goes an hour ahead", () => vi.setSystemTime(Date.now() + 3_600_000), 0],
  ["own clock goes an hour back", () => vi.setSystemTime(Date.now() - 3_600_000), 0],
  ["own clock goes two months ahead", () => vi.setSystemTime(Date.now() + 60 * 86_400_000), 0],
  ["gateway's clock goes an hour ahead", () => {}, 3_600_000],
  ["gateway's clock goes an hour back", () => {}, -3_600_000],
  ["gateway's clock goes two months ahead", () => {}, 60 * 86_400_000],
  ["gateway's clock goes two months back", () => {}, -60 * 86_400_000],
] as const)(
  "goes on once a minute, by the gateway's clock, when the %s",
  async (_, jump, jumpMs) => {
    const { gateway, runs, pass, runner } = await startBench();
    // A moment before a run, of which it does not ask: the next one is set by a clock that is wrong.
    await pass(nextTick(gridOf(check), Date.now() + 60_000) - Date.now() - 500);
    const rightMs = Date.now();
    jump();
    gateway.aheadMs = rightMs - Date.now() + jumpMs;
    await pass(80_000);
    runs.length = 0;

    await pass(300_000);
    const gatewayMs = gateway.aheadMs;
    await runner.stop();

    expect(runs).toHaveLength(5);
    expect(runs.map(({ tickMs }) => tickMs)).toEqual(runs.map(({ atMs }) => atMs + gatewayMs));
  },
);

it("the runner runs again as soon as the gateway's clock is right", async () => {
  const { gateway, runs, pass, runner } = await startBench();
  gateway.aheadMs = 60 * 86_400_000;
  await pass(100_000);

  gateway.aheadMs = 0;
  await pass(80_000);
  runs.length = 0;
  await pass(300_000);
  await runner.stop();

  expect(runs).toHaveLength(5);
  expect(runs.every(({ tickMs, atMs }) => tickMs === atMs)).toBe(true);
});

it("the runner runs nothing more once it is stopped, whatever control still answers", async () => {
  const { gateway, runs, pass, runner } = await startBench();
  gateway.answersAfterMs = 5_000;
  await pass(21_000);
  await runner.stop();
  runs.length = 0;

  await pass(300_000);

  expect(runs).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

it("the runner starts new checks, stops removed ones, and leaves the others alone", async () => {
  const { gateway, runs, pass, runner } = await startBench();
  await pass(60_000);

  gateway.checks = [anApiCheck({ id: "other" })];
  await pass(20_000);
  runs.length = 0;
  await pass(120_000);
  await runner.stop();

  expect(runs.map((run) => run.check)).toEqual(["other", "other"]);
});

it("continues while the gateway is down, and reports everything afterwards, in order", async () => {
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

it("the runner does not start when the gateway does not answer", async () => {
  const fetchWork = () => Promise.reject(new Error("connection refused"));
  const parts = { fetchWork, report: async () => {}, log, nowMs: Date.now };

  await expect(startRunner({ ...parts, run: async () => aCheckResult() })).rejects.toThrow(
    "connection refused",
  );
});
