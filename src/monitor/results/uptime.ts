/** Strips and uptime of the last 24 hours, for all checks at once. */
import type { Database } from "#kernel/database.ts";
import type { CheckView } from "./contract.ts";

export type Strip = CheckView["strip"];

const dayMs = 86_400_000;
const pieceMs = 900_000;

export type Day = {
  /** Empty: none was wanted. */
  strip: Strip;
  /** Percent of runs that did not fail. */
  runUptime: number;
};

type Wanted = {
  nowMs: number;
  failedAtPercent: number;
  hasStrips: boolean;
  /** Absent: all. */
  ids?: readonly string[] | undefined;
};

/** The last 24 hours of each check, by check id; a check without results is absent. */
export async function readDays(
  database: Database,
  { nowMs, failedAtPercent, hasStrips, ids }: Wanted,
): Promise<Map<string, Day>> {
  const { rows } = await database.query<DayRow>(hasStrips ? selectStrips : selectSums, [
    new Date(firstPieceMs(nowMs)),
    new Date(nowMs + 60_000),
    failedAtPercent,
    ids ?? null,
  ]);
  const blank = hasStrips ? emptyStrip(nowMs) : [];
  return new Map(rows.map((row) => [row.check_id, toDay(row, blank)]));
}

export function emptyStrip(nowMs: number): Strip {
  return Array.from({ length: dayMs / pieceMs }, (_, i) => ({
    starts_at: new Date(firstPieceMs(nowMs) + i * pieceMs).toISOString(),
    grade: null,
    runs: 0,
    failed_runs: 0,
  }));
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

type DayRow = {
  check_id: string;
  runs: number;
  failed_runs: number;
  /** The number of the piece, its runs, the failed ones, and its results that are not ok. */
  pieces?: [number, number, number, number][];
};

function firstPieceMs(nowMs: number): number {
  return Math.floor(nowMs / pieceMs) * pieceMs - dayMs + pieceMs;
}

function toDay({ runs, failed_runs, pieces = [] }: DayRow, blank: Strip): Day {
  const strip = [...blank];
  for (const [index, ofPiece, failed, notOk] of pieces) {
    const piece = blank[index];
    if (piece === undefined) continue;
    const grade = failed > 0 ? "failed" : notOk > 0 ? "degraded" : "ok";
    strip[index] = { ...piece, grade, runs: ofPiece, failed_runs: failed };
  }
  return { strip, runUptime: ((runs - failed_runs) / runs) * 100 };
}

const ofAsked = "($4::text[] IS NULL OR check_id = ANY ($4))";

// From $1 to before $2: from rollups as far as they are made, and from results after that.
const found = `
  WITH quarters AS (
    SELECT greatest(max(done_until), $1::timestamptz) AS until FROM check_rollup_marks
    WHERE bucket_seconds = 900
  ), minutes AS (
    SELECT greatest(max(done_until), (SELECT until FROM quarters)) AS until FROM check_rollup_marks
    WHERE bucket_seconds = 60
  ), found AS (
    SELECT check_id, starts_at, runs, failed_runs, degraded + failed AS not_ok
    FROM check_rollups WHERE bucket_seconds = 900 AND starts_at >= $1 AND starts_at < (SELECT until FROM quarters)
      AND ${ofAsked}
    UNION ALL
    SELECT check_id, starts_at, runs, failed_runs, degraded + failed
    FROM check_rollups WHERE bucket_seconds = 60 AND location = ''
      AND starts_at >= (SELECT until FROM quarters) AND starts_at < (SELECT until FROM minutes) AND ${ofAsked}
    UNION ALL
    SELECT check_id, scheduled_at, 1,
      (count(*) FILTER (WHERE grade = 'failed') > 0
        AND count(*) FILTER (WHERE grade = 'failed') * 100 >= $3::integer * count(*))::integer,
      count(*) FILTER (WHERE grade <> 'ok')
    FROM check_results WHERE scheduled_at >= (SELECT until FROM minutes) AND scheduled_at < $2 AND ${ofAsked}
    GROUP BY check_id, scheduled_at
  )`;

const selectSums = `${found}
  SELECT check_id, sum(runs)::integer AS runs, sum(failed_runs)::integer AS failed_runs
  FROM found GROUP BY check_id`;

// Failures too few to fail a run count as degraded, as in the verdict.
const selectStrips = `${found}, pieces AS (
    SELECT check_id, floor(extract(epoch FROM starts_at - $1) / 900)::integer AS piece,
      sum(runs)::integer AS runs, sum(failed_runs)::integer AS failed_runs, sum(not_ok)::integer AS not_ok
    FROM found GROUP BY check_id, piece
  )
  SELECT check_id, sum(runs)::integer AS runs, sum(failed_runs)::integer AS failed_runs,
    json_agg(json_build_array(piece, runs, failed_runs, not_ok)) AS pieces
  FROM pieces GROUP BY check_id`;

/** null: of an API check. */
const createdAt = "to_timestamp((s.row->'state'->>'createdAtMs')::bigint / 1000.0)";

const selectAlertTime = `
  SELECT check_id, 100 - 100 * least(1, sum(extract(epoch FROM greatest(
      least(coalesce(resolved_at, $2), $2) - greatest(opened_at, since),
      -- An alert may end before it began if the clock was set back.
      interval '0'
    ))) / extract(epoch FROM $2 - since))::float8 AS percent
  FROM check_episodes LEFT JOIN check_states s ON s.id = check_id,
    LATERAL (SELECT least(greatest(${createdAt}, $1::timestamptz), $2::timestamptz - interval '1 s') AS since) span
  WHERE opened_at < $2 AND (resolved_at IS NULL OR resolved_at > $1)
  GROUP BY check_id, since`;
