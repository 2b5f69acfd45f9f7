/** What a broken API, or a runner gone mad, can say: it must not end the record of the check. */
import { expect, it } from "vitest";
import type { CheckResult } from "#monitor/contract.ts";
import { aCheckResult, anApiCheck } from "../../support/check-builders.ts";
import { startMonitorBench } from "../../support/monitor-bench.ts";
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

const poison: [string, Partial<CheckResult>][] = [
  ["a tick in a year that no database has", { scheduledAtMs: 8.64e15 + 1 }],
  ["a tick before all history", { scheduledAtMs: -8e15 }],
  ["a NUL in a reason", { grade: "failed", reason: "\0" }],
  ["half a surrogate in a reason", { grade: "failed", reason: "\ud83e" }],
  ["a status beyond any status", { status: Number.MAX_SAFE_INTEGER }],
  ["days beyond all days", { tlsDaysLeft: Number.MAX_SAFE_INTEGER }],
  ["a time that is too long", { durationMs: 1e300 }],
  ["a time that is too short", { durationMs: 1e-300 }],
];

it.each(poison)("a report with %s does not keep later ones from being recorded", async (_, bad) => {
  const bench = await startMonitorBench({ apiChecks: [check] });
  const result = aCheckResult({ checkId: "probe", location: "fra", scheduledAtMs: 1_000, ...bad });
  const { scheduledAtMs } = result;

  await bench.call("vedette.v1.ApiCheck/probe/report", { scheduledAtMs, results: [result] });
  await bench.start();

  await bench.untilResults(2);
  expect((await bench.snapshot("probe")).status).toBe("ok");
});
