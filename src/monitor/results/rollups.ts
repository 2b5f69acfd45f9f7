/** Rollups of results: minutes and hours for charts, quarters of an hour for the last day of all checks. */
import type { ClientBase } from "pg";
import { type Database, inTransaction } from "#kernel/database.ts";
import { isAhead } from "#kernel/time.ts";

const bucketSizes = [60, 900, 3600] as const;
type BucketSeconds = (typeof bucketSizes)[number];

export type RollupSettings = {
  /** The limit of the verdict: a run is failed when this many percent of its results are; 0: any. */
  failedAtPercent: number;
  /** The retention of rollups by minute; that of rollups by hour is `hourDays`. */
  minuteDays: number;
  hourDays: number;
};

/** Reports of further locations may come late: rollups younger than this are made again. */
const lateMs = { 60: 10 * 60_000, 900: 10 * 60_000, 3600: 3_600_000 } as const;

const dayMs = 86_400_000;

/** The maximum span per statement, when rollups are made up for after a downtime. */
const maxStepMs = { 60: 6 * 3_600_000, 900: dayMs / 2, 3600: 2 * dayMs } as const;

const lockKey = 4_707_002;

/** Rolls up complete minutes and hours, and deletes what is too old at `trustedMs`. True: more are missing. */
export async function rollUp(
  database: Database,
  { nowMs, trustedMs, settings }: { nowMs: number; trustedMs: number; settings: RollupSettings },
): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const lock = await client.query("SELECT pg_try_advisory_xact_lock($1) AS held", [lockKey]);
    if (lock.rows[0].held !== true) return false;
    let isBehind = false;
    for (const bucketSeconds of bucketSizes) {
      const span = await makeNext(client, { bucketSeconds, nowMs, settings });
      if (span === null) continue;
      const keptDays = keptDaysOf(settings)[bucketSeconds];
      await client.query(dropOld, [bucketSeconds, new Date(trustedMs - keptDays * dayMs)]);
      isBehind ||= span.isBehind;
    }
    return isBehind;
  });
}

function keptDaysOf({ minuteDays, hourDays }: RollupSettings): Record<BucketSeconds, number> {
  return { 60: minuteDays, 900: Math.min(2, minuteDays), 3600: hourDays };
}

type Next = { bucketSeconds: BucketSeconds; nowMs: number; settings: RollupSettings };

/** Makes the next rollups of this size, and returns their span; null: there are none to make. */
async function makeNext(client: ClientBase, { bucketSeconds, nowMs, settings }: Next) {
  const doneMs = await readDone(client, bucketSeconds);
  if (doneMs === null) return null;
  // Of results that are kept no longer than minutes.
  const keptDays = Math.min(keptDaysOf(settings)[bucketSeconds], settings.minuteDays);
  const span = nextSpan({ bucketSeconds, doneMs, nowMs, keptMs: keptDays * dayMs });
  if (span === null) return null;
  const [from, to] = [new Date(span.fromMs), new Date(span.toMs)];
  await client.query(upsertRollups, [bucketSeconds, from, to, settings.failedAtPercent]);
  await client.query(saveMark, [bucketSeconds, to]);
  return span;
}

/** Until when rollups are made; before the first ones, the time of the oldest result. Null: there are none. */
async function readDone(client: ClientBase, bucketSeconds: BucketSeconds): Promise<number | null> {
  const marks = await client.query<{ done_until: Date }>(readMark, [bucketSeconds]);
  if (marks.rows[0] !== undefined) return marks.rows[0].done_until.getTime();
  const results = await client.query<{ oldest: Date | null }>(readOldest);
  return results.rows[0]?.oldest?.getTime() ?? null;
}

type Progress = { bucketSeconds: BucketSeconds; doneMs: number; nowMs: number; keptMs: number };

/** The span of the buckets to make next, complete ones and again those with late results; null: none. */
function nextSpan({ bucketSeconds, doneMs, nowMs, keptMs }: Progress) {
  const sizeMs = bucketSeconds * 1_000;
  const floor = (ms: number) => Math.floor(ms / sizeMs) * sizeMs;
  const completeMs = floor(nowMs);
  const isWrong = isAhead(doneMs, nowMs);
  if (doneMs >= completeMs && !isWrong) return null;
  // The mark was set while a clock was ahead: later results may be missing, and would be until then.
  const sinceMs = isWrong ? completeMs - maxStepMs[bucketSeconds] : doneMs - lateMs[bucketSeconds];
  const fromMs = floor(Math.max(sinceMs, nowMs - keptMs));
  const toMs = Math.min(completeMs, floor(fromMs + maxStepMs[bucketSeconds]));
  return { fromMs, toMs, isBehind: toMs < completeMs };
}

/** Aggregates of a group of results, each with `run_failed`. */
export const sums = `
    (count(*) FILTER (WHERE grade = 'degraded'))::integer AS degraded,
    (count(*) FILTER (WHERE grade = 'failed'))::integer AS failed,
    count(DISTINCT scheduled_at)::integer AS runs,
    (count(DISTINCT scheduled_at) FILTER (WHERE run_failed))::integer AS failed_runs,
    percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY duration_ms)::real[] AS percentiles,
    max(duration_ms) AS max_ms, avg(dns_ms)::real AS dns_ms, avg(connect_ms)::real AS connect_ms,
    avg(tls_ms)::real AS tls_ms, avg(first_byte_ms)::real AS first_byte_ms,
    avg(transfer_ms)::real AS transfer_ms`;

/** From $2 to before $3 in buckets of $1 s, per location and over all ("" ). A run counts once; failed at $4 percent. */
export const aggregate = (condition: string) => `
  SELECT r.check_id, $1::integer AS bucket_seconds, coalesce(r.location, '') AS location, r.starts_at,
    count(*)::integer AS results,
    (count(*) FILTER (WHERE grade = 'ok'))::integer AS ok,
    ${sums}
  FROM (
    SELECT *,
      to_timestamp(floor(extract(epoch FROM scheduled_at) / $1::integer) * $1::integer) AS starts_at,
      (count(*) FILTER (WHERE grade = 'failed') OVER run) > 0
        AND (count(*) FILTER (WHERE grade = 'failed') OVER run) * 100
          >= $4::integer * (count(*) OVER run) AS run_failed
    FROM check_results WHERE scheduled_at >= $2 AND scheduled_at < $3 ${condition}
    WINDOW run AS (PARTITION BY check_id, scheduled_at)
  ) r
  GROUP BY GROUPING SETS ((r.check_id, r.starts_at, r.location), (r.check_id, r.starts_at))`;

// Of a single location those by minute would be as many as its results: below the hour all are summed up.
const upsertRollups = `
  INSERT INTO check_rollups (check_id, bucket_seconds, location, starts_at, results, ok, degraded,
    failed, runs, failed_runs, p50_ms, p95_ms, p99_ms, max_ms, dns_ms, connect_ms, tls_ms,
    first_byte_ms, transfer_ms)
  SELECT check_id, bucket_seconds, location, starts_at, results, ok, degraded, failed, runs,
    failed_runs, percentiles[1], percentiles[2], percentiles[3], max_ms, dns_ms, connect_ms, tls_ms,
    first_byte_ms, transfer_ms
  FROM (${aggregate("")}) made WHERE bucket_seconds = 3600 OR location = ''
  ON CONFLICT (check_id, bucket_seconds, location, starts_at) DO UPDATE SET
    results = excluded.results, ok = excluded.ok, degraded = excluded.degraded,
    failed = excluded.failed, runs = excluded.runs, failed_runs = excluded.failed_runs,
    p50_ms = excluded.p50_ms, p95_ms = excluded.p95_ms, p99_ms = excluded.p99_ms,
    max_ms = excluded.max_ms, dns_ms = excluded.dns_ms, connect_ms = excluded.connect_ms,
    tls_ms = excluded.tls_ms, first_byte_ms = excluded.first_byte_ms,
    transfer_ms = excluded.transfer_ms`;

const readMark = "SELECT done_until FROM check_rollup_marks WHERE bucket_seconds = $1 FOR UPDATE";

const readOldest = "SELECT min(scheduled_at) AS oldest FROM check_results";

const saveMark = `
  INSERT INTO check_rollup_marks (bucket_seconds, done_until) VALUES ($1, $2)
  ON CONFLICT (bucket_seconds) DO UPDATE SET done_until = excluded.done_until`;

const dropOld = "DELETE FROM check_rollups WHERE bucket_seconds = $1 AND starts_at < $2";
