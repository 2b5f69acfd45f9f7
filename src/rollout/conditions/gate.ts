/** The gate between two waves: whether the checks allow the next one. Pure. */
import type { Gate, GateStatus } from "#rollout/policy-contract.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { type Condition, start } from "./condition.ts";

/** The runs of one check since the gate closed. */
export type CheckReport = {
  check: string;
  /** Runs that were ok at every location. */
  cleanRuns: number;
  /** The first run that failed; null when none did. */
  failedRun: GateStatus["checks"][number]["failed_run"];
};

/** Reads reports of API checks, by id, from runs that were due at `sinceMs` (Unix ms) or later. */
export type ReadChecks = (checks: string[], sinceMs: number) => Promise<CheckReport[]>;

/** The interval at which the checks are read; at most `maxPolls` times, to keep the run's journal small. */
export function gatePollMs({ timeout_seconds }: Gate): number {
  return Math.max(1_000, Math.ceil((timeout_seconds * 1_000) / maxPolls));
}

const maxPolls = 300;

/** A gate that has just closed after wave `wave`, counted from 1. */
export function newGateStatus(gate: Gate, wave: number, nowMs: number): GateStatus {
  return {
    wave,
    since: new Date(nowMs).toISOString(),
    until: new Date(nowMs + gate.timeout_seconds * 1_000).toISOString(),
    checks: gate.checks.map((check) => ({
      check,
      clean_runs: 0,
      wanted_runs: gate.clean_runs,
      failed_run: null,
    })),
  };
}

/** The status updated with the checks' reports. */
export function withReports(status: GateStatus, reports: readonly CheckReport[]): GateStatus {
  const byCheck = new Map(reports.map((report) => [report.check, report]));
  return {
    ...status,
    checks: status.checks.map((one) => {
      const report = byCheck.get(one.check);
      if (report === undefined) return one;
      // Results may be deleted in a long wait after the gate has opened.
      const clean_runs = Math.max(one.clean_runs, report.cleanRuns);
      return { ...one, clean_runs, failed_run: report.failedRun };
    }),
  };
}

/** A failed run precedes clean ones, and both the timeout. It stops a last wave that soaks, too. */
export const evaluateGate: Condition = ({ head, next, nowMs }) => {
  const { gateStatus: status } = head;
  if (status === undefined || next.kind === "deploy") return start;
  const failure = failureOf(status);
  if (failure !== undefined) {
    return { action: "stop", cause: "gate", reason: failure, isOfImage: true };
  }
  const missing = missingOf(head);
  if (missing === undefined || next.kind === "end") return start;
  const untilMs = endMsOf(head, status);
  if (nowMs >= untilMs) {
    const reason = `the gate timed out: ${missing}`;
    return { action: "stop", cause: "gate", reason, isOfImage: false };
  }
  const reason = `waits for its checks: ${missing}`;
  return { action: "wait", waitingFor: "gate", reason, untilMs };
};

/** One that was open takes a reading after a Resume, for which it has all its time again. */
function endMsOf({ gate, wait }: RolloutHead, status: GateStatus): number {
  const isClean = status.checks.every((check) => check.clean_runs >= check.wanted_runs);
  const untilMs = Date.parse(status.until);
  if (!isClean || gate === undefined || wait?.resumedAt === undefined) return untilMs;
  return Math.max(untilMs, Date.parse(wait.resumedAt) + gate.timeout_seconds * 1_000);
}

/** Describes what keeps the gate from opening; undefined: nothing. */
function missingOf({ gateStatus, wait }: RolloutHead): string | undefined {
  const missing = (gateStatus?.checks ?? [])
    .filter((check) => check.clean_runs < check.wanted_runs)
    .map(({ check, clean_runs, wanted_runs }) => `${check} had ${clean_runs} of ${wanted_runs}`);
  if (missing.length > 0) return `of clean runs ${missing.join(", ")}`;
  const { resumedAt, checkedAt = "" } = wait ?? {};
  const isStale = resumedAt !== undefined && checkedAt < resumedAt;
  return isStale ? "they have not been read since the rollout was resumed" : undefined;
}

function failureOf(status: GateStatus): string | undefined {
  for (const { check, failed_run: run } of status.checks) {
    if (run === null) continue;
    return `the gate is closed: ${check} failed at ${run.location} (${run.reason})`;
  }
  return undefined;
}
