/** Reads single results, charts and alerts. */
import { viewSuspect } from "#blame/contract.ts";
import type { Database } from "#kernel/database.ts";
import { isClean } from "#kernel/text.ts";
import type {
  CheckChart,
  CheckChartRequest,
  CheckEpisode,
  CheckEpisodes,
  CheckEpisodesRequest,
  CheckHistory,
  CheckHistoryRequest,
  CheckResultView,
  CheckSuppression,
} from "./contract.ts";
import { viewRollout } from "./list.ts";
import { aggregate } from "./rollups.ts";

export type ResultReader = ReturnType<typeof createResultReader>;

const hourMs = 3_600_000;

/** Charts up to this span are made of minutes, longer ones of hours. */
const minutesUpToHours = 48;

export function createResultReader(database: Database, settings: { failedAtPercent: number }) {
  return {
    /** Results of one check, newest first. */
    async history(request: CheckHistoryRequest): Promise<CheckHistory> {
      const { check, limit, before, location, grade, since } = request;
      const [beforeAt, beforeLocation] = readCursor(before);
      const { rows } = await database.query(selectHistory, [
        check,
        location ?? null,
        grade ?? null,
        since ?? null,
        beforeAt,
        beforeLocation,
        limit,
      ]);
      const results = rows.map(toResultView);
      const last = results.at(-1);
      const isFull = results.length === limit && last !== undefined;
      return isFull ? { results, next: `${last.scheduled_at}/${last.location}` } : { results };
    },

    /** Response times: from rollups as far as they are made, and from single results after that. */
    async chart(request: CheckChartRequest, nowMs: number): Promise<CheckChart> {
      const { hours, until } = request;
      const endMs = until === undefined ? nowMs : Math.min(Date.parse(until), nowMs);
      const read = (bucketSeconds: 60 | 3600) =>
        readChart(database, { ...request, ...settings, bucketSeconds, endMs });
      if (hours > minutesUpToHours) return read(3600);
      const byMinute = await read(60);
      // Hours are kept for longer than minutes are.
      return until === undefined || byMinute.points.length > 0 ? byMinute : read(3600);
    },

    /** Alerts, and the times in which one was suppressed; each newest first. */
    async episodes(request: CheckEpisodesRequest): Promise<CheckEpisodes> {
      const { check, limit, since, until } = request;
      const asked = [check ?? null, limit, since ?? null, until ?? null];
      const [episodes, suppressions] = await Promise.all([
        database.query(selectEpisodes, asked),
        database.query(selectSuppressions, asked),
      ]);
      return {
        episodes: episodes.rows.map(toEpisode),
        suppressions: suppressions.rows.map(toSuppression),
      };
    },
  };
}

type ChartSpan = Pick<CheckChartRequest, "check" | "hours" | "location"> & {
  bucketSeconds: 60 | 3600;
  endMs: number;
  failedAtPercent: number;
};

async function readChart(database: Database, span: ChartSpan): Promise<CheckChart> {
  const { check, hours, location, bucketSeconds, endMs, failedAtPercent } = span;
  const sizeMs = bucketSeconds * 1_000;
  const from = new Date(Math.floor((endMs - hours * hourMs) / sizeMs) * sizeMs);
  const to = new Date(endMs + sizeMs);
  // There are no rollups by minute of single locations: these are made from results.
  const hasRollups = bucketSeconds === 3600 || location === undefined;
  const rollups = hasRollups
    ? await database.query(selectRollups, [bucketSeconds, from, check, location ?? "", to])
    : { rows: [] };
  const lastMs: number | undefined = rollups.rows.at(-1)?.starts_at.getTime();
  const tailFrom = lastMs === undefined ? from : new Date(lastMs + sizeMs);
  const tail = await database.query(selectTail, [
    bucketSeconds,
    tailFrom,
    to,
    failedAtPercent,
    check,
    location ?? "",
  ]);
  return { bucket_seconds: bucketSeconds, points: [...rollups.rows, ...tail.rows].map(toPoint) };
}

/** `<time>/<location>`; an invalid cursor starts at the newest. */
function readCursor(cursor: string | undefined): [Date | null, string] {
  const [time = "", ...rest] = cursor?.split("/") ?? [];
  const location = rest.join("/");
  const at = new Date(time);
  // Postgres does not accept all years of more than four digits, nor the year 0.
  const isTime = /^(?!0000)\d{4}-/.test(time) && !Number.isNaN(at.getTime());
  return isTime && isClean(location, cursor?.length ?? 0) ? [at, location] : [null, ""];
}

const selectHistory = `
  SELECT * FROM check_results
  WHERE check_id = $1 AND ($2::text IS NULL OR location = $2) AND ($3::text IS NULL OR grade = $3)
    AND ($4::timestamptz IS NULL OR scheduled_at >= $4)
    AND ($5::timestamptz IS NULL OR (scheduled_at, location) < ($5, $6::text))
  ORDER BY scheduled_at DESC, location DESC LIMIT $7`;

const selectRollups = `
  SELECT * FROM check_rollups
  WHERE bucket_seconds = $1 AND starts_at >= $2 AND starts_at < $5 AND check_id = $3 AND location = $4
  ORDER BY starts_at`;

const selectTail = `
  SELECT *, percentiles[1] AS p50_ms, percentiles[2] AS p95_ms, percentiles[3] AS p99_ms
  FROM (${aggregate("AND check_id = $5")}) made WHERE location = $6 ORDER BY starts_at`;

/** The end of one that lasts is later than any time. */
const within = (from: string, to: string) => `($1::text IS NULL OR check_id = $1)
    AND ($3::timestamptz IS NULL OR coalesce(${to}, 'infinity') >= $3)
    AND ($4::timestamptz IS NULL OR ${from} <= $4)`;

const selectEpisodes = `
  SELECT * FROM check_episodes WHERE ${within("opened_at", "resolved_at")}
  ORDER BY opened_at DESC, check_id LIMIT $2`;

const selectSuppressions = `
  SELECT * FROM check_suppressions WHERE ${within("began_at", "ended_at")}
  ORDER BY began_at DESC, check_id LIMIT $2`;

/** A row as the driver returns it, with the names of the query. */
// biome-ignore lint/suspicious/noExplicitAny: its shape is that of the table
type Row = any;

function phasesOf(row: Row) {
  const { dns_ms, connect_ms, tls_ms, first_byte_ms, transfer_ms } = row;
  return { dns_ms, connect_ms, tls_ms, first_byte_ms, transfer_ms };
}

function toResultView(row: Row): CheckResultView {
  return {
    scheduled_at: row.scheduled_at.toISOString(),
    started_at: row.started_at.toISOString(),
    location: row.location,
    grade: row.grade,
    cause: row.cause,
    duration_ms: row.duration_ms,
    ...phasesOf(row),
    status: row.status,
    reason: row.reason,
    tls_days_left: row.tls_days_left,
  };
}

function toPoint(row: Row): CheckChart["points"][number] {
  const { results, degraded, failed, p50_ms, p95_ms, p99_ms, max_ms } = row;
  const counts = { results, degraded, failed };
  const durations = { p50_ms, p95_ms, p99_ms, max_ms };
  return { starts_at: row.starts_at.toISOString(), ...counts, ...durations, ...phasesOf(row) };
}

function toEpisode(row: Row): CheckEpisode {
  return {
    check_id: row.check_id,
    episode: row.episode,
    opened_at: row.opened_at.toISOString(),
    resolved_at: row.resolved_at?.toISOString() ?? null,
    reason: row.reason,
    locations: row.locations,
    missed_pings: row.missed_pings,
    rollout: viewRollout(row.rollout),
    ...(row.changes !== null && { changes: row.changes.map(viewSuspect) }),
    opened_delivered_at: row.opened_delivered_at?.toISOString() ?? null,
    resolved_delivered_at: row.resolved_delivered_at?.toISOString() ?? null,
  };
}

function toSuppression(row: Row): CheckSuppression {
  return {
    check_id: row.check_id,
    began_at: row.began_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    suppressed_by: row.suppressed_by,
    reason: row.reason,
  };
}
