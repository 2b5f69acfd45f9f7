/** Replays the recorded results of a check under other rules, with the same grading and verdicts: what would have alerted. */
import type { AlertTransition } from "#alerts/contract.ts";
import type { Database } from "#kernel/database.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { ApiCheck, CheckResult, ReadDefinitions } from "#monitor/contract.ts";
import { noPhases } from "#monitor/kinds/observe.ts";
import type { CheckReplay, CheckReplayRequest } from "#monitor/replay-contract.ts";
import { regrade } from "#monitor/rules/grade.ts";
import { decide, newCheckState } from "#monitor/rules/verdict.ts";
import type { CheckProblemCode } from "./contract.ts";

type Parts = {
  database: Database;
  readDefinitions: ReadDefinitions;
  failedAtPercent: number;
  nowMs: () => number;
};

/** The span of results to read at a time, which bounds the memory of a long replay. */
const stepMs = 6 * 3_600_000;

const maxEpisodes = 100;

/**
 * Returns what would have alerted under the rules of the request, and what does under those defined. Throws 400
 * `not_replayable` for a heartbeat, which has no thresholds; before its next read once the signal is aborted.
 */
export async function replayCheck(
  parts: Parts,
  request: CheckReplayRequest,
  signal: AbortSignal,
): Promise<CheckReplay> {
  const { apiChecks } = await parts.readDefinitions();
  const check = apiChecks.find(({ id }) => id === request.check);
  if (check === undefined) {
    const detail = `${request.check} is a heartbeat: only API checks can be replayed`;
    throw new ProblemError<CheckProblemCode>({ status: 400, code: "not_replayable", detail });
  }
  const toMs = parts.nowMs();
  const fromMs = toMs - request.hours * 3_600_000;
  const defined: Rules = { ...check, failedAtPercent: parts.failedAtPercent };
  const requested = withRequest(defined, request);
  const replays = [defined, requested].map((rules) => ({ rules, ...createReplay(rules) }));
  const span = { checkId: check.id, fromMs, toMs, signal };
  let runs = 0;
  for await (const run of readRuns(parts.database, span)) {
    runs += 1;
    for (const replay of replays) replay.take(run);
  }
  const [asDefined, asAsked] = replays.map((replay) =>
    describe(replay.rules, replay.outcome(), toMs),
  );
  if (asDefined === undefined || asAsked === undefined) throw new Error("no replay was made");
  const since = new Date(fromMs).toISOString();
  return { check: check.id, since, runs, as_defined: asDefined, as_asked: asAsked };
}

function withRequest(rules: Rules, request: CheckReplayRequest): Rules {
  return {
    ...rules,
    failedAboveMs: request.failed_above_ms ?? rules.failedAboveMs,
    degradedAboveMs: request.degraded_above_ms ?? rules.degradedAboveMs,
    failedAtPercent: request.failed_at_percent ?? rules.failedAtPercent,
    failedRunThreshold: request.failed_run_threshold ?? rules.failedRunThreshold,
  };
}

type Span = { checkId: string; fromMs: number; toMs: number; signal: AbortSignal };

async function* readRuns(database: Database, { checkId, fromMs, toMs, signal }: Span) {
  const span = [checkId, new Date(fromMs), new Date(toMs)];
  const locations = await database.query(selectLocations, span);
  for (let startMs = fromMs; startMs < toMs; startMs += stepMs) {
    signal.throwIfAborted();
    const endMs = Math.min(startMs + stepMs, toMs);
    const { rows } = await database.query(selectResults, [
      checkId,
      new Date(startMs),
      new Date(endMs),
    ]);
    const byTick = Map.groupBy(rows.map(toResult), ({ scheduledAtMs }) => scheduledAtMs);
    for (const [scheduledAtMs, results] of byTick) {
      yield { scheduledAtMs, expected: expectedAt(locations.rows, scheduledAtMs), results };
    }
  }
}

type LocationSpan = { location: string; first_at: Date; last_at: Date };

/** A location is expected from its first report to its last; without a report in between it was silent. */
function expectedAt(locations: readonly LocationSpan[], atMs: number): string[] {
  return locations
    .filter(({ first_at, last_at }) => first_at.getTime() <= atMs && last_at.getTime() >= atMs)
    .map(({ location }) => location);
}

function describe(rules: Rules, outcome: Outcome, toMs: number): CheckReplay["as_asked"] {
  const { ok, degraded, failed, episodes } = outcome;
  const alertingMs = episodes.reduce(
    (sum, { openedAtMs, resolvedAtMs }) => sum + (resolvedAtMs ?? toMs) - openedAtMs,
    0,
  );
  return {
    degraded_above_ms: rules.degradedAboveMs,
    failed_above_ms: rules.failedAboveMs,
    failed_at_percent: rules.failedAtPercent,
    failed_run_threshold: rules.failedRunThreshold,
    ok,
    degraded,
    failed,
    alerts: episodes.length,
    alerting_seconds: Math.round(alertingMs / 1_000),
    episodes: episodes.slice(-maxEpisodes).map(({ openedAtMs, resolvedAtMs, ...rest }) => ({
      opened_at: new Date(openedAtMs).toISOString(),
      resolved_at: resolvedAtMs === null ? null : new Date(resolvedAtMs).toISOString(),
      ...rest,
    })),
  };
}

const selectLocations = `
  SELECT location, min(scheduled_at) AS first_at, max(scheduled_at) AS last_at FROM check_results
  WHERE check_id = $1 AND scheduled_at >= $2 AND scheduled_at < $3 GROUP BY location ORDER BY location`;

const selectResults = `
  SELECT location, scheduled_at, started_at, grade, cause, duration_ms, status, reason
  FROM check_results WHERE check_id = $1 AND scheduled_at >= $2 AND scheduled_at < $3
  ORDER BY scheduled_at, location`;

// biome-ignore lint/suspicious/noExplicitAny: a row as the driver returns it, with the names of the query
function toResult(row: any): CheckResult {
  return {
    checkId: "",
    location: row.location,
    scheduledAtMs: row.scheduled_at.getTime(),
    startedAtMs: row.started_at.getTime(),
    grade: row.grade,
    cause: row.cause,
    durationMs: row.duration_ms,
    phases: noPhases,
    status: row.status,
    reason: row.reason,
    tlsDaysLeft: null,
  };
}

type Rules = Pick<ApiCheck, "id" | "degradedAboveMs" | "failedAboveMs" | "failedRunThreshold"> & {
  failedAtPercent: number;
};

type ReplayedRun = {
  scheduledAtMs: number;
  /** The locations that were to report then. */
  expected: readonly string[];
  results: readonly CheckResult[];
};

type ReplayedEpisode = {
  openedAtMs: number;
  /** null: still open at the end. */
  resolvedAtMs: number | null;
  reason: string;
  locations: string[];
};

type Outcome = { ok: number; degraded: number; failed: number; episodes: ReplayedEpisode[] };

/** `take` expects runs in the order of their ticks. Ignores mute and maintenance, which would hide alerts. */
function createReplay(rules: Rules) {
  let state = newCheckState(0);
  const outcome: Outcome = { ok: 0, degraded: 0, failed: 0, episodes: [] };
  const verdictRules = {
    checkId: rules.id,
    failedRunThreshold: rules.failedRunThreshold,
    failedAtPercent: rules.failedAtPercent,
    isQuiet: false,
    rollout: null,
  };
  return {
    take({ scheduledAtMs, expected, results }: ReplayedRun) {
      const graded = results.map((result) => regrade(rules, result));
      for (const { grade } of graded) outcome[grade] += 1;
      const run = { scheduledAtMs, expected, results: graded, isClosed: true, atMs: scheduledAtMs };
      const { state: next, transition } = decide(state, run, verdictRules);
      state = next;
      if (transition !== null) note(outcome.episodes, transition);
    },
    outcome: () => outcome,
  };
}

function note(episodes: ReplayedEpisode[], { kind, atMs, reason, locations }: AlertTransition) {
  const last = episodes.at(-1);
  if (kind === "opened") episodes.push({ openedAtMs: atMs, resolvedAtMs: null, reason, locations });
  else if (last !== undefined) last.resolvedAtMs = atMs;
}
