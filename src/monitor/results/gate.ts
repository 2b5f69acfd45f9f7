/** Counts the clean runs of checks since a time, for the gate of a rollout. */
import type { Database } from "#kernel/database.ts";

type GateReport = {
  check: string;
  cleanRuns: number;
  failedRun: {
    at: string;
    location: string;
    reason: string;
    status: number | null;
    duration_ms: number;
  } | null;
};

/**
 * Counts the runs that were due at `sinceMs` (Unix ms) or later. A run is clean if it is decided and was ok
 * at every location: while a location may still report, it is not counted. A run is failed by the quorum
 * that alerts use. Only decided runs count for that, because the first location to report is 100 percent of
 * the reports for a moment; if any failure counts (0 percent), undecided runs count too. Of checks that run here
 * no run is clean by the word of further runners alone: it was missed here, as while the program was down.
 */
export function createReadGate(database: Database, { failedAtPercent, findOwn }: GateSettings) {
  return async (checks: string[], sinceMs: number): Promise<GateReport[]> => {
    const own = await findOwn(checks);
    const values = [checks, new Date(sinceMs), failedAtPercent, own];
    const { rows } = await database.query<Row>(selectRuns, values);
    return rows.map(({ id, clean_runs, failed_run }) => ({
      check: id,
      cleanRuns: clean_runs,
      failedRun: failed_run,
    }));
  };
}

/** `findOwn` returns those of the checks that run here, too, and not at locations of runners alone. */
type GateSettings = {
  failedAtPercent: number;
  findOwn: (checks: readonly string[]) => Promise<readonly string[]>;
};

type Row = { id: string; clean_runs: number; failed_run: GateReport["failedRun"] };

/** The tick of the last decided run; null: none is, or the row is of a heartbeat. */
const decidedAt = "to_timestamp((s.row->'state'->>'decidedRunMs')::bigint / 1000.0)";

/** A failed row of `check_results` as a report has it. */
const failureJson = `jsonb_build_object(
  'at', to_char(scheduled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'location', location, 'reason', coalesce(reason, 'failed'), 'status', status, 'duration_ms', duration_ms)`;

const selectRuns = `
  WITH runs AS (
    SELECT check_id, scheduled_at,
      bool_and(grade = 'ok') AND (check_id <> ALL ($4::text[])
        OR bool_or(location NOT IN (SELECT location FROM check_runners))) AS is_ok,
      count(*) FILTER (WHERE grade = 'failed') AS failed, count(*) AS results
    FROM check_results WHERE check_id = ANY ($1) AND scheduled_at >= $2 AND location <> 'ping'
    GROUP BY check_id, scheduled_at
  )
  SELECT wanted.id, (
      SELECT count(*)::integer FROM runs
      JOIN check_states s ON s.id = runs.check_id
      WHERE runs.check_id = wanted.id AND is_ok
        AND scheduled_at <= ${decidedAt}
    ) AS clean_runs, (
      SELECT ${failureJson}
      FROM runs JOIN check_results r USING (check_id, scheduled_at)
      LEFT JOIN check_states s ON s.id = r.check_id
      WHERE r.check_id = wanted.id AND failed > 0 AND failed * 100 >= $3::integer * results
        AND r.grade = 'failed' AND ($3::integer = 0
          OR r.scheduled_at <= ${decidedAt})
      ORDER BY r.scheduled_at, r.location LIMIT 1
    ) AS failed_run
  FROM unnest($1::text[]) AS wanted (id)`;

type PastRun = {
  check: string;
  scheduledMs: number;
  /** The time of its last report. */
  decidedMs: number;
  /** True if it was ok at every location. */
  isClean: boolean;
  /** The first failure, by the quorum that alerts use; null: it has not failed. */
  failure: GateReport["failedRun"];
};

/** More are cut off: a day of a check that runs each 10 s has 8,640. */
const mostRuns = 20_000;

type Span = { fromMs: number; untilMs: number };

/** Reads past runs as the gate of a rollout would have counted them. Both bounds are inclusive. `untilMs` of the answer: up to where it has all runs. */
export function createReadRuns(database: Database, settings: { failedAtPercent: number }) {
  return async (checks: readonly string[], { fromMs, untilMs }: Span) => {
    const span = [new Date(fromMs), new Date(untilMs)];
    const values = [checks, ...span, settings.failedAtPercent, mostRuns];
    const { rows: runs } = await database.query<PastRun>(selectPastRuns, values);
    const last = runs.at(-1);
    const isCut = runs.length === mostRuns && last !== undefined;
    return { runs, untilMs: isCut ? last.scheduledMs : untilMs };
  };
}

const msOf = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::float8`;

const selectPastRuns = `
  SELECT check_id AS check, ${msOf("scheduled_at")} AS "scheduledMs",
    ${msOf("max(started_at + make_interval(secs => duration_ms / 1000))")} AS "decidedMs",
    bool_and(grade = 'ok') AS "isClean",
    CASE WHEN count(*) FILTER (WHERE grade = 'failed') * 100 >= greatest(1, $4::integer * count(*))
      THEN (array_agg(${failureJson} ORDER BY location) FILTER (WHERE grade = 'failed'))[1]
      END AS failure
  FROM check_results
  WHERE check_id = ANY ($1) AND scheduled_at BETWEEN $2 AND $3 AND location <> 'ping'
  GROUP BY check_id, scheduled_at ORDER BY scheduled_at, check_id LIMIT $5`;
