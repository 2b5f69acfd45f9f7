/** Reads the runs of checks in a past time, as the gate of a rollout would have counted them. */
import type { Database } from "#kernel/database.ts";
import { failureJson, type GateReport } from "./gate.ts";

export type PastRun = {
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

/** Both bounds are inclusive. `untilMs` of the answer: up to where it has all runs. */
export function createReadRuns(database: Database, settings: { failedAtPercent: number }) {
  return async (checks: readonly string[], { fromMs, untilMs }: Span) => {
    const span = [new Date(fromMs), new Date(untilMs)];
    const values = [checks, ...span, settings.failedAtPercent, mostRuns];
    const { rows: runs } = await database.query<PastRun>(selectRuns, values);
    const last = runs.at(-1);
    const isCut = runs.length === mostRuns && last !== undefined;
    return { runs, untilMs: isCut ? last.scheduledMs : untilMs };
  };
}

const msOf = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::float8`;

const selectRuns = `
  SELECT check_id AS check, ${msOf("scheduled_at")} AS "scheduledMs",
    ${msOf("max(started_at + make_interval(secs => duration_ms / 1000))")} AS "decidedMs",
    bool_and(grade = 'ok') AS "isClean",
    CASE WHEN count(*) FILTER (WHERE grade = 'failed') * 100 >= greatest(1, $4::integer * count(*))
      THEN (array_agg(${failureJson} ORDER BY location) FILTER (WHERE grade = 'failed'))[1]
      END AS failure
  FROM check_results
  WHERE check_id = ANY ($1) AND scheduled_at BETWEEN $2 AND $3 AND location <> 'ping'
  GROUP BY check_id, scheduled_at ORDER BY scheduled_at, check_id LIMIT $5`;
