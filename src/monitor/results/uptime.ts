/** Strips and uptime of the last 24 hours, for all checks at once. */
import type { Database } from "#kernel/database.ts";
import type { CheckView } from "./contract.ts";
import { aggregate } from "./rollups.ts";

export type Strip = CheckView["strip"];

const dayMs = 86_400_000;
const pieceMs = 15 * 60_000;

export type Day = {
  strip: Strip;
  /** Percent of runs that did not fail; null without runs. */
  runUptime: number | null;
};

/** The last 24 hours of each check, by check id; a check without results is absent. */
export async function readDays(
  database: Database,
  { nowMs, failedAtPercent }: { nowMs: number; failedAtPercent: number },
): Promise<Map<string, Day>> {
  const { rows } = await database.query(selectPieces, [
    60,
    new Date(firstPieceMs(nowMs)),
    new Date(nowMs + 60_000),
    failedAtPercent,
  ]);
  const byCheck = Map.groupBy(rows as PieceRow[], (row) => row.check_id);
  return new Map([...byCheck].map(([id, pieces]) => [id, toDay(pieces, nowMs)]));
}

export function emptyStrip(nowMs: number): Strip {
  return toDay([], nowMs).strip;
}

/** Percent of 24 h without an open alert, by check id; of a younger heartbeat of its time. Without alerts absent. */
export async function readAlertTime(
  database: Database,
  nowMs: number,
): Promise<Map<string, number>> {
  const { rows } = await database.query(selectAlertTime, [
    new Date(nowMs - dayMs),
    new Date(nowMs),
  ]);
  return new Map(rows.map((row) => [row.check_id, row.percent]));
}

type PieceRow = {
  check_id: string;
  starts_at: Date;
  runs: number;
  failed_runs: number;
  degraded: number;
  failed: number;
};

function firstPieceMs(nowMs: number): number {
  return Math.floor(nowMs / pieceMs) * pieceMs - dayMs + pieceMs;
}

function toDay(rows: readonly PieceRow[], nowMs: number): Day {
  const byStart = new Map(rows.map((row) => [row.starts_at.getTime(), row]));
  const strip = Array.from({ length: dayMs / pieceMs }, (_, i) => {
    const startsAtMs = firstPieceMs(nowMs) + i * pieceMs;
    const row = byStart.get(startsAtMs);
    const { runs = 0, failed_runs = 0 } = row ?? {};
    return {
      starts_at: new Date(startsAtMs).toISOString(),
      grade: worstOf(row),
      runs,
      failed_runs,
    };
  });
  const sum = (pick: (row: PieceRow) => number) => rows.reduce((all, row) => all + pick(row), 0);
  const runs = sum((row) => row.runs);
  const failedRuns = sum((row) => row.failed_runs);
  return { strip, runUptime: runs === 0 ? null : ((runs - failedRuns) / runs) * 100 };
}

/** Failures too few to fail a run count as degraded, as in the verdict. */
function worstOf(row: PieceRow | undefined): Strip[number]["grade"] {
  if (row === undefined) return null;
  if (row.failed_runs > 0) return "failed";
  return row.degraded + row.failed > 0 ? "degraded" : "ok";
}

// From rollups by minute as far as they are made, and from results after that.
const selectPieces = `
  WITH mark AS (
    SELECT greatest(coalesce(max(done_until), $2::timestamptz), $2::timestamptz) AS until
    FROM check_rollup_marks WHERE bucket_seconds = $1::integer
  ), minutes AS (
    SELECT check_id, starts_at, runs, failed_runs, degraded, failed FROM check_rollups, mark
    WHERE bucket_seconds = $1::integer AND location = '' AND starts_at >= $2 AND starts_at < mark.until
    UNION ALL
    SELECT check_id, starts_at, runs, failed_runs, degraded, failed
    FROM (${aggregate("AND scheduled_at >= (SELECT until FROM mark)")}) made WHERE location = ''
  )
  SELECT check_id, date_bin('15 minutes', starts_at, 'epoch') AS starts_at, sum(runs)::integer AS runs,
    sum(failed_runs)::integer AS failed_runs, sum(degraded)::integer AS degraded,
    sum(failed)::integer AS failed
  FROM minutes GROUP BY 1, 2 ORDER BY 1, 2`;

const selectAlertTime = `
  SELECT check_id, 100 - 100 * least(1, sum(extract(epoch FROM greatest(
      least(coalesce(resolved_at, $2), $2) - greatest(opened_at, since),
      -- An alert may end before it began if the clock was set back.
      interval '0'
    ))) / extract(epoch FROM $2 - since))::float8 AS percent
  FROM check_episodes LEFT JOIN heartbeats ON id = check_id,
    LATERAL (SELECT least(greatest(created_at, $1::timestamptz), $2::timestamptz - interval '1 s') AS since) span
  WHERE opened_at < $2 AND (resolved_at IS NULL OR resolved_at > $1)
  GROUP BY check_id, since`;
