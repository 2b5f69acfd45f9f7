/** Reads the recorded results of a check run by run and replays them. */
import type { Database } from "#kernel/database.ts";
import type { CheckResult, ReadDefinitions } from "#monitor/contract.ts";
import type { CheckReplay, CheckReplayRequest } from "#monitor/replays/contract.ts";

type Rules = {
  id: string;
  degradedAboveMs: number;
  failedAboveMs: number;
  failedRunThreshold: number;
  failedAtPercent: number;
};

type Run = { scheduledAtMs: number; expected: readonly string[]; results: readonly CheckResult[] };

type Episode = {
  openedAtMs: number;
  resolvedAtMs: number | null;
  reason: string;
  locations: string[];
};

type Outcome = { ok: number; degraded: number; failed: number; episodes: Episode[] };

/** Creates a replay with the verdicts of the monitor. */
type CreateReplay = (rules: Rules) => {
  take: (run: Run) => void;
  outcome: () => Outcome;
};

export type ReplayCheck = (request: CheckReplayRequest) => Promise<CheckReplay>;

type Parts = {
  database: Database;
  readDefinitions: ReadDefinitions;
  failedAtPercent: number;
  createReplay: CreateReplay;
  nowMs: () => number;
};

/** The span of results to read at a time, which bounds the memory of a long replay. */
const stepMs = 6 * 3_600_000;

const maxEpisodes = 100;

/** Returns what would have alerted under the rules of the request, and what does under those defined. */
export function createReplayCheck(parts: Parts): ReplayCheck {
  return async (request) => {
    const { apiChecks } = await parts.readDefinitions();
    const check = apiChecks.find(({ id }) => id === request.check);
    if (check === undefined) throw new Error(`${request.check} is no API check`);
    const toMs = parts.nowMs();
    const fromMs = toMs - request.hours * 3_600_000;
    const defined: Rules = { ...check, failedAtPercent: parts.failedAtPercent };
    const requested = withRequest(defined, request);
    const replays = [defined, requested].map((rules) => ({ rules, ...parts.createReplay(rules) }));
    const span = { checkId: check.id, fromMs, toMs };
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
  };
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

type Span = { checkId: string; fromMs: number; toMs: number };

async function* readRuns(database: Database, { checkId, fromMs, toMs }: Span) {
  const span = [checkId, new Date(fromMs), new Date(toMs)];
  const locations = await database.query(selectLocations, span);
  for (let startMs = fromMs; startMs < toMs; startMs += stepMs) {
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

const unmeasured = { dns: null, connect: null, tls: null, firstByte: null, transfer: null };

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
    phases: unmeasured,
    status: row.status,
    reason: row.reason,
    tlsDaysLeft: null,
  };
}
