/** A runner of a place that nobody trusts much: its word counts as that of one place, for runs that there are. */
import { createHash, randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { createControl } from "#control/control.ts";
import { createLog } from "#kernel/log.ts";
import type { CheckResult } from "#monitor/contract.ts";
import { createRunnerDoor } from "#monitor/locations/gateway.ts";
import { createRunnerClient } from "#monitor/locations/runner.ts";
import { createReadGate } from "#monitor/results/gate.ts";
import { gridOf, nextTick } from "#monitor/rules/grid.ts";
import { aCheckResult, anApiCheck } from "../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../support/wait-for.ts";

const check = anApiCheck({ id: "probe", frequencySeconds: 1, locations: ["eu-central-1"] });
const refused = { grade: "failed", cause: "error", reason: "connection refused" } as const;
const sinceMs = nextTick(gridOf(check), Date.now() - 60_000);
const betweenTicks = Array.from({ length: 90 }, (_, n) => sinceMs + 5 + 10 * n);

async function startWithRunner() {
  const bench = await startMonitorBench({ apiChecks: [check] });
  const { ingressUrl } = bench.restate;
  const door = createRunnerDoor({
    runners: bench.runners,
    readChecks: async () => [check],
    whyOff: () => [],
    baseUrl: bench.target.url,
    report: bench.states.report,
    nowMs: Date.now,
  });
  const log = createLog({ level: "silent", format: "json" });
  const control = createControl({ ingressUrl, ingressToken: "shared", log, doors: [door] });
  onTestFinished(() => control.close());
  const url = await control.listen({ host: "127.0.0.1", port: 0 });
  const token = randomBytes(32).toString("base64url");
  const tokenHash = createHash("sha256").update(token).digest("hex");
  await bench.runners.add("fra", { tokenHash, by: "ada" });
  const client = createRunnerClient({ control: url, token });
  const report = (atMs: readonly number[], changes: Partial<CheckResult> = {}) =>
    client.report(
      atMs.map((scheduledAtMs) => aCheckResult({ checkId: "probe", scheduledAtMs, ...changes })),
    );
  /** By the runs from `sinceMs` on, once one of our own is decided. */
  const readGate = async () => {
    await bench.start();
    // Recorded after what was reported before it.
    await report([sinceMs + 1_000]);
    const isRecorded = async () => {
      const places = new Set((await bench.results()).map(({ location }) => location));
      return places.size === 2 && (await bench.snapshot("probe"))?.lastAtMs > sinceMs;
    };
    await waitFor(isRecorded, { withinMs: 60_000, what: "a run of each" });
    const settings = { failedAtPercent: 60, findOwn: async () => ["probe"] };
    const [gate] = await createReadGate(bench.database, settings)(["probe"], sinceMs);
    const own = (await bench.results()).filter(({ location }) => location === "local").length;
    return { ...gate, own };
  };
  return { ...bench, report, readGate };
}

it("a runner opens no gate by runs between the ticks of a check", async () => {
  const bench = await startWithRunner();

  await bench.report(betweenTicks);

  const { cleanRuns, own } = await bench.readGate();
  expect(cleanRuns).toBeLessThanOrEqual(own);
});

it("a runner opens no gate by ticks that the program has missed while it was down", async () => {
  const bench = await startWithRunner();

  await bench.report(Array.from({ length: 40 }, (_, n) => sinceMs + 1_000 * n));

  const { cleanRuns, own } = await bench.readGate();
  expect(cleanRuns).toBeLessThanOrEqual(own);
});

it("a runner closes no gate by a run between the ticks, where more places have to fail", async () => {
  const bench = await startWithRunner();

  await bench.report(betweenTicks, refused);

  expect((await bench.readGate()).failedRun).toBeNull();
});

it("a run of a tick that a runner reports late is recorded", async () => {
  const bench = await startWithRunner();

  await bench.report([sinceMs, sinceMs + 5]);

  await bench.untilResults(1);
  expect((await bench.results()).map(({ atMs }) => atMs)).toEqual([sinceMs]);
});
