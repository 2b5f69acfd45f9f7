/** Grades the observation of a probe: ok, degraded or failed. */
import { formatDuration } from "#kernel/time.ts";
import type { CheckResult, RunnableCheck } from "#monitor/contract.ts";
import { kindOf, type ProbeObservation } from "#monitor/kinds/contract.ts";
import type { Cause, Grade } from "#monitor/kinds/kind.ts";

type GradeResult = { grade: Grade; cause: Cause | null; reason: string | null };

type Thresholds = Pick<RunnableCheck, "degradedAboveMs" | "failedAboveMs">;

/**
 * The grade of an observation: an error or a wrong answer fails however quick it was (docs/monitoring.md,
 * "An API check").
 */
export function grade(check: RunnableCheck, observation: ProbeObservation): GradeResult {
  const { outcome } = observation;
  if (outcome.kind === "error") return { grade: "failed", cause: "error", reason: outcome.reason };
  const byContent = kindOf(check).grade(check, { ...observation, outcome });
  const byTime = gradeByTime(check, observation.durationMs);
  if (byContent === null) return byTime;
  // A certificate that ends soon is only degraded.
  return byContent.grade === "degraded" && byTime.grade === "failed" ? byTime : byContent;
}

/** A duration equal to a threshold is not above it. */
export function gradeByTime(check: Thresholds, durationMs: number): GradeResult {
  const { failedAboveMs, degradedAboveMs } = check;
  if (durationMs > failedAboveMs) return tooSlow("failed", durationMs, failedAboveMs);
  if (durationMs > degradedAboveMs) return tooSlow("degraded", durationMs, degradedAboveMs);
  return { grade: "ok", cause: null, reason: null };
}

function tooSlow(slow: Grade, durationMs: number, aboveMs: number): GradeResult {
  const reason = `took ${formatDuration(durationMs)}, ${slow} above ${formatDuration(aboveMs)}`;
  return { grade: slow, cause: "slow", reason };
}

/** Grades a recorded result by other thresholds; a result that failed for another cause stays failed. */
export function regrade(check: Thresholds, result: CheckResult): CheckResult {
  const isAboutTime = result.cause === null || result.cause === "slow";
  return isAboutTime ? { ...result, ...gradeByTime(check, result.durationMs) } : result;
}

type RunAt = { location: string; scheduledAtMs: number; startedAtMs: number };

/** The result of one run at one location. */
export function toResult(
  check: RunnableCheck,
  run: RunAt,
  observation: ProbeObservation,
): CheckResult {
  const { durationMs, phases, tlsDaysLeft, outcome } = observation;
  return {
    checkId: check.id,
    ...run,
    ...grade(check, observation),
    durationMs,
    phases,
    status: "status" in outcome ? outcome.status : null,
    tlsDaysLeft,
  };
}
