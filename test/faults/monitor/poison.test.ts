/** What a broken API, or a runner gone mad, can say: it must not end the record of the check. */
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
  const snapshot = await waitFor(async () => (await bench.snapshot("probe")) ?? false, {
    withinMs: 10_000,
    what: "the snapshot",
  });

  expect(snapshot.status).toBe("failed");
});

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

it("values that Postgres refuses do not block later records", async () => {
  const bench = await startMonitorBench({ apiChecks: [check] });
  for (const bad of poison) {
    const known = { checkId: "probe", location: "fra", scheduledAtMs: 1_000 };
    const result = aCheckResult({ ...known, ...bad });
    const { scheduledAtMs } = result;
    await bench.call("vedette.v1.ApiCheck/probe/report", {
      scheduledAtMs,
      atMs: Date.now(),
      results: [result],
    });
  }

  await bench.start();
  await bench.untilResults(2);

  // The snapshot may be written after the results.
  const snapshot = await waitFor(async () => (await bench.snapshot("probe")) ?? false, {
    withinMs: 10_000,
    what: "the snapshot",
  });
  expect(snapshot.status).toBe("ok");
});

it("a result that cannot be stored does not block those of the same report", async () => {
  const bench = await startMonitorBench({ apiChecks: [check] });
  const result = (location: string, changes: Partial<CheckResult> = {}) =>
    aCheckResult({ checkId: "probe", location, scheduledAtMs: 1_000, ...changes });

  await bench.call("vedette.v1.ApiCheck/probe/report", {
    scheduledAtMs: 1_000,
    results: [result("ams"), result("fra", { durationMs: 1e300 }), result("syd")],
  });
  await bench.untilResults(2);

  expect((await bench.results()).map(({ location }) => location)).toEqual(["ams", "syd"]);
});
