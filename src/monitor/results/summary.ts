/** Sums up the single results of a check over a span. */
import type { Database } from "#kernel/database.ts";
import type { CheckSummary, CheckSummaryRequest } from "./contract.ts";
import { sums } from "./rollups.ts";

type Parts = { database: Database; failedAtPercent: number; nowMs: () => number };

const hourMs = 3_600_000;

/** Covers the results within their retention; without any there is no total. */
export async function sumUp(
  { database, failedAtPercent, nowMs }: Parts,
  { check, hours }: CheckSummaryRequest,
): Promise<CheckSummary> {
  const from = new Date(nowMs() - hours * hourMs);
  const [sums, missed] = await Promise.all([
    database.query<SumRow>(selectSums, [check, from, failedAtPercent]),
    database.query(selectMissed, [check, from]),
  ]);
  const total = sums.rows.find(({ location }) => location === null);
  const byLocation = sums.rows.filter((row) => row.location !== null);
  return {
    check,
    since: from.toISOString(),
    first_at: total?.first_at?.toISOString() ?? null,
    runs: total?.runs ?? 0,
    failed_runs: total?.failed_runs ?? 0,
    missed_ticks: missed.rows[0].ticks,
    total: total === undefined || total.results === 0 ? null : toSum(total),
    locations: byLocation.map((row) => ({ location: row.location ?? "", ...toSum(row) })),
  };
}

type Sum = NonNullable<CheckSummary["total"]>;

type SumRow = Omit<Sum, "p50_ms" | "p95_ms" | "p99_ms"> & {
  /** null: all locations together. */
  location: string | null;
  first_at: Date | null;
  runs: number;
  failed_runs: number;
  percentiles: [number, number, number];
};

function toSum({ location, first_at, runs, failed_runs, percentiles, ...sum }: SumRow): Sum {
  const [p50_ms, p95_ms, p99_ms] = percentiles;
  return { ...sum, p50_ms, p95_ms, p99_ms };
}

const selectSums = `
  SELECT location, min(scheduled_at) AS first_at, count(*)::integer AS results,
    ${sums}
  FROM (
    SELECT *,
      (count(*) FILTER (WHERE grade = 'failed') OVER run) > 0
        AND (count(*) FILTER (WHERE grade = 'failed') OVER run) * 100
          >= $3::integer * (count(*) OVER run) AS run_failed
    FROM check_results WHERE check_id = $1 AND scheduled_at >= $2
    WINDOW run AS (PARTITION BY scheduled_at)
  ) r
  GROUP BY GROUPING SETS ((location), ()) ORDER BY location`;

const selectMissed = `
  SELECT coalesce(sum(ticks), 0)::integer AS ticks FROM check_missed_ticks
  WHERE check_id = $1 AND to_at >= $2`;
