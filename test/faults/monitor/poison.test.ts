/** What a broken API, or a runner gone mad, can say: it must not end the record of the check, nor of others. */
import { expect, it } from "vitest";
import type { CheckResult } from "#monitor/contract.ts";
import { aCheckResult, anApiCheck } from "../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../support/wait-for.ts";

const check = anApiCheck({ id: "probe", frequencySeconds: 1, locations: ["eu-central-1"] });

it("a pair of surrogates at the end of what is quoted leaves the check readable", async () => {
  const assertions = [{ source: "json" as const, path: "say", equals: "hello" }];
  const bench = await startMonitorBench({ apiChecks: [{ ...check, assertions }] });
  // Quoted in 79 units, of which the quotation mark is one: the last would be half a fox.
  const say = `x${"🦊".repeat(60)}`;
  bench.target.answers((_, outgoing) => outgoing.end(JSON.stringify({ say })));

  await bench.start();
  await waitFor(async () => (await bench.snapshot("probe"))?.status === "failed", {
    withinMs: 10_000,
    what: "the failure to show",
  });

  expect((await bench.results())[0]?.reason).toContain("🦊");
});

const known = { checkId: "probe", location: "fra", scheduledAtMs: 1_000 };

const poison: Partial<CheckResult>[] = [
  { scheduledAtMs: 8.64e15 + 1 },
  { scheduledAtMs: -8e15 },
  { grade: "failed", reason: "\0" },
  { grade: "failed", reason: "\ud83e" },
  { status: Number.MAX_SAFE_INTEGER },
  { tlsDaysLeft: Number.MAX_SAFE_INTEGER },
  { durationMs: 1e300 },
  { durationMs: 1e-300 },
];

it("values that Postgres refuses do not block later reports", async () => {
  const bench = await startMonitorBench({ apiChecks: [check] });
  for (const bad of poison) {
    const result = aCheckResult({ ...known, ...bad });
    await bench.states
      .report("probe", { scheduledAtMs: result.scheduledAtMs, results: [result] })
      .catch(() => {});
  }

  await bench.start();
  await bench.untilResults(2);

  expect((await bench.snapshot("probe")).status).toBe("ok");
});

it("a report that cannot be stored does not block those of the same moment", async () => {
  const bench = await startMonitorBench({ apiChecks: [check] });
  const report = (location: string, changes: Partial<CheckResult> = {}) =>
    bench.states.report("probe", {
      scheduledAtMs: 1_000,
      results: [aCheckResult({ ...known, location, ...changes })],
    });

  const answers = await Promise.allSettled([
    report("ams"),
    report("fra", { status: Number.MAX_SAFE_INTEGER }),
    report("syd"),
  ]);

  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect((await bench.results()).map(({ location }) => location)).toEqual(["ams", "syd"]);
});

it("a row that Postgres refuses does not keep others from being decided", async () => {
  const other = anApiCheck({ ...check, id: "other" });
  const bench = await startMonitorBench({ apiChecks: [check, other] });
  await bench.start();
  // Its next run is recorded as missed since a time that no table can have.
  await bench.database.query(
    `UPDATE check_states SET row = jsonb_set(row, '{run}', $1) WHERE id = 'probe'`,
    [
      JSON.stringify({
        scheduledAtMs: 8.64e15 + 1,
        expected: ["local"],
        results: [],
        closesAtMs: 0,
      }),
    ],
  );

  await waitFor(async () => (await resultsOf(bench, "other")).length >= 3, {
    withinMs: 20_000,
    what: "runs of the other check",
  });

  expect(bench.logLines.filter((line) => line.includes("check not decided"))).not.toEqual([]);
});

async function resultsOf(bench: Awaited<ReturnType<typeof startMonitorBench>>, id: string) {
  return (await bench.results()).filter((result) => result.check === id);
}
