/** The gate that waits for clean runs of API checks. */
import { ProblemError } from "#kernel/problem.ts";
import { noSuch } from "#kernel/text.ts";
import { formatDuration } from "#kernel/time.ts";
import type { CheckState, GateOf, GateProblemCode, GateState, NamedGate } from "./contract.ts";
import type { Evaluation, Found, GateKind, GateTargets } from "./kind.ts";

type ChecksGate = NamedGate & GateOf<"checks">;

export const checksGate: GateKind<ChecksGate> = {
  reads: "always",
  isKept: true,
  firstMs: () => 0,
  pollMs: gatePollMs,
  open: ({ checks, clean_runs: wanted_runs }) => ({
    checks: checks.map((check) => ({ check, clean_runs: 0, wanted_runs, failed_run: null })),
  }),
  read: async ({ checks }, { readChecks }, { sinceMs }) => ({
    reports: await readChecks(checks, sinceMs),
  }),
  withFound: withReports,
  evaluate: (_, { checks = [] }) => evaluateChecks(checks),
  refuse: refuseChecks,
  describe: ({ checks, clean_runs, timeout_seconds }) =>
    `${checks.join(", ")}; clean runs of each: ${clean_runs}, within ${formatDuration(timeout_seconds * 1_000)}`,
};

/** At most `maxPolls` times, to keep the run's journal small. */
function gatePollMs({ timeout_seconds }: Pick<ChecksGate, "timeout_seconds">): number {
  return Math.max(1_000, Math.ceil((timeout_seconds * 1_000) / maxPolls));
}

const maxPolls = 300;

function withReports(state: GateState, found: Found): GateState {
  const reports = "reports" in found ? found.reports : [];
  const byCheck = new Map(reports.map((report) => [report.check, report]));
  const checks = (state.checks ?? []).map((one) => {
    const report = byCheck.get(one.check);
    if (report === undefined) return one;
    // Results may be deleted in a long wait after the gate has opened.
    const clean_runs = Math.max(one.clean_runs, report.cleanRuns);
    return { ...one, clean_runs, failed_run: report.failedRun };
  });
  return { ...state, checks };
}

/** A failed run precedes clean ones. */
function evaluateChecks(checks: readonly CheckState[]): Evaluation {
  for (const { check, failed_run: run } of checks) {
    if (run === null) continue;
    return { verdict: "fail", reason: `${check} failed at ${run.location} (${run.reason})` };
  }
  const missing = checks
    .filter((check) => check.clean_runs < check.wanted_runs)
    .map(({ check, clean_runs, wanted_runs }) => `${check} had ${clean_runs} of ${wanted_runs}`);
  if (missing.length === 0) return { verdict: "pass", reason: "all had their clean runs" };
  return { verdict: "pending", reason: `of clean runs ${missing.join(", ")}` };
}

/** 400 `unknown_check` for a check that is not defined, 409 `check_off` for checks that are off. */
function refuseChecks({ checks }: ChecksGate, { known, whyOff }: GateTargets) {
  const unknown = checks.find((check) => !known.includes(check));
  if (unknown !== undefined) {
    const detail = noSuch("API check", unknown, known);
    return new ProblemError<GateProblemCode>({ status: 400, code: "unknown_check", detail });
  }
  const lines = checks.flatMap((check) => {
    const missing = whyOff(check);
    if (missing.length === 0) return [];
    return [
      `gate.checks: ${check} is off, and a gate with it would never open: set ${missing.join(" and ")}, or leave it out`,
    ];
  });
  if (lines.length === 0) return undefined;
  const detail = lines.join("\n");
  return new ProblemError<GateProblemCode>({ status: 409, code: "check_off", detail });
}
