/** What a runner may report, and what it does when it may not. */
import fastify from "fastify";
import { expect, it, onTestFinished, vi } from "vitest";
import { createLog } from "#kernel/log.ts";
import type { CheckResult } from "#monitor/contract.ts";
import { RunnerReport } from "#monitor/locations/contract.ts";
import { createRunnerDoor } from "#monitor/locations/gateway.ts";
import { ReportRefusedError, startRunner } from "#monitor/locations/runner.ts";
import { gridOf, nextTick } from "#monitor/rules/grid.ts";
import { aCheckResult, anApiCheck } from "../../support/monitor/check-builders.ts";

const read = (changes: Partial<CheckResult>) =>
  RunnerReport.safeParse({ results: [aCheckResult(changes)] });

it.each([
  { scheduledAtMs: 8.64e15 + 2 },
  { scheduledAtMs: -1 },
  { startedAtMs: -1 },
  { durationMs: 1e300 },
  { durationMs: -1 },
  { status: 1_000 },
  { tlsDaysLeft: 1e9 },
] satisfies Partial<CheckResult>[])("a report with %j is refused", (changes) => {
  expect(read(changes).success).toBe(false);
});

it("a certificate without end is no reason to refuse a report", () => {
  const tlsDaysLeft = Math.floor((Date.UTC(9999, 11, 31) - Date.UTC(2026, 0, 1)) / 86_400_000);

  expect(read({ tlsDaysLeft }).success).toBe(true);
});

it("a reason is stored without characters that cannot be shown or that reverse text", () => {
  const report = read({ reason: `a\0b\ud83e\u202e\u001b[31m${"x".repeat(2_000)}` });

  const reason = report.data?.results[0]?.reason;
  expect(reason).toHaveLength(1_000);
  expect(reason?.startsWith("a b\ufffd x")).toBe(true);
});

it("a secret in a reason is stored masked", () => {
  const report = read({ reason: `the answer was ${"x".repeat(960)} postgres://gw:hunter-two@db` });

  expect(report.data?.results[0]?.reason).not.toContain("hunter");
});

it("a report that is refused does not block later ones", async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
  onTestFinished(() => void vi.useRealTimers());
  const check = anApiCheck({ id: "probe", frequencySeconds: 1 });
  const reported: CheckResult[] = [];
  let isFirst = true;
  const runner = await startRunner({
    fetchWork: async () => ({
      location: "fra",
      now_ms: Date.now(),
      base_url: "https://a.example",
      services: [],
      checks: [check],
    }),
    report: async (results) => {
      const isRefused = isFirst;
      isFirst = false;
      if (isRefused) throw new ReportRefusedError("answered 400");
      reported.push(...results);
    },
    run: async ({ id }, { scheduledAtMs }) => aCheckResult({ checkId: id, scheduledAtMs }),
    log: createLog({ level: "silent", format: "json" }),
    nowMs: Date.now,
  });

  await vi.advanceTimersByTimeAsync(3_000);
  await runner.stop();

  expect(reported).toHaveLength(2);
});

it("only results of ticks are passed on: a runner stores no more of them than the check has runs", async () => {
  const check = anApiCheck({ id: "probe", locations: ["fra"], frequencySeconds: 60 });
  const nowMs = Date.UTC(2026, 0, 30);
  const tick = nextTick(gridOf(check), nowMs) - 60_000;
  const passed: number[] = [];
  const app = fastify();
  await app.register(
    createRunnerDoor({
      runners: { identify: async () => "fra" },
      readChecks: async () => [check],
      whyOff: () => [],
      baseUrl: "",
      report: async (_, { scheduledAtMs }) => void passed.push(scheduledAtMs),
      nowMs: () => nowMs,
    }).plugin,
  );
  const times = [tick, tick - 1, tick + 1, tick - 60_000, tick - 90_000, tick - 2 * 86_400_000];
  const results = times.map((scheduledAtMs) => aCheckResult({ checkId: "probe", scheduledAtMs }));

  const { statusCode } = await app.inject({
    method: "POST",
    url: "/runner/report",
    headers: { authorization: `Bearer ${"t".repeat(43)}` },
    payload: { results },
  });

  expect(statusCode).toBe(202);
  expect(passed.toSorted()).toEqual([tick - 60_000, tick]);
});

it.each([
  ["/runner/work", { kinds: ["http"] }, 5, 200],
  ["/runner/report", { results: Array(100).fill(aCheckResult()) }, 50, 202],
])(
  "%s answers a location that asks too often in a second by 429, and another one",
  async (url, payload, most, good) => {
    const location = { now: "fra" };
    const app = fastify();
    await app.register(
      createRunnerDoor({
        runners: { identify: async () => location.now },
        readChecks: async () => [],
        whyOff: () => [],
        baseUrl: "",
        report: async () => {},
        nowMs: () => 0,
      }).plugin,
    );
    const headers = { authorization: `Bearer ${"t".repeat(43)}` };
    const post = async () =>
      (await app.inject({ method: "POST", url, headers, payload })).statusCode;
    const countsMs = vi.spyOn(performance, "now").mockReturnValue(1_000);
    onTestFinished(() => countsMs.mockRestore());

    const allowed = await Promise.all(Array.from({ length: most }, post));
    const more = await post();
    location.now = "iad";
    const other = await post();

    expect(new Set(allowed)).toEqual(new Set([good]));
    expect([more, other]).toEqual([429, good]);
  },
);
