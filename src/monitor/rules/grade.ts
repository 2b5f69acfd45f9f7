/** Grades the observation of a probe: ok, degraded or failed. */
import { formatDuration } from "#kernel/duration.ts";
import type {
  Assertion,
  Cause,
  CheckResult,
  Grade,
  Phases,
  ProbeObservation,
  RunnableCheck,
} from "#monitor/contract.ts";

type GradeResult = { grade: Grade; cause: Cause | null; reason: string | null };

type Thresholds = Pick<RunnableCheck, "degradedAboveMs" | "failedAboveMs">;

/**
 * The grade of an observation: an error or a wrong answer fails however quick it was (docs/architecture.md,
 * "Checks and grades").
 */
export function grade(
  check: Thresholds & Pick<RunnableCheck, "assertions">,
  observation: ProbeObservation,
): GradeResult {
  const { outcome } = observation;
  if (outcome.kind === "error") return { grade: "failed", cause: "error", reason: outcome.reason };
  for (const assertion of check.assertions) {
    const fault = findFault(assertion, outcome);
    if (fault !== null) return { grade: "failed", cause: "assertion", reason: fault };
  }
  return gradeByTime(check, observation.durationMs);
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
    status: outcome.kind === "response" ? outcome.status : null,
    tlsDaysLeft,
  };
}

/** The phases before any was measured. */
export const noPhases: Phases = {
  dns: null,
  connect: null,
  tls: null,
  firstByte: null,
  transfer: null,
};

type Response = Extract<ProbeObservation["outcome"], { kind: "response" }>;

function findFault(assertion: Assertion, response: Response): string | null {
  switch (assertion.source) {
    case "status":
      return response.status === assertion.equals
        ? null
        : `answered ${response.status}, expected ${assertion.equals}`;
    case "header": {
      const value = response.headers[assertion.name.toLowerCase()];
      if (value?.includes(assertion.contains)) return null;
      return `header ${assertion.name} is ${show(value)}, expected to contain ${show(assertion.contains)}`;
    }
    case "json": {
      const value = findInJson(response.body, assertion.path);
      if (value === assertion.equals) return null;
      return `${assertion.path} is ${show(value)}, expected ${show(assertion.equals)}`;
    }
  }
}

/** The value at a dotted path; undefined when the text is not JSON or has no such member. */
function findInJson(text: string, path: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Truncated, since the answer of a broken server may be long. */
function show(value: unknown): string {
  if (value === undefined) return "absent";
  const text = JSON.stringify(value);
  // Half of a surrogate pair is no character, and Postgres refuses it in JSON.
  return text.length <= 80 ? text : `${text.slice(0, 79).replace(/[\ud800-\udbff]$/, "")}…`;
}
