/** Stores pings that came on time, of heartbeats that are ok: many in one idempotent statement. */
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";
import { withPartitions } from "./partitions.ts";

/** `dueAtMs`: the deadline of the next ping, including the grace. `expectedAtMs`: of a heartbeat by cron. */
export type PlainPing = { checkId: string; atMs: number; dueAtMs: number; expectedAtMs?: number };

/**
 * Stores a result of each ping, and sets last ping and deadline in the snapshots of those heartbeats, unless a newer
 * ping is stored.
 */
export async function savePings(database: Database, pings: readonly PlainPing[]): Promise<void> {
  const columns = [
    pings.map(({ checkId }) => checkId),
    pings.map(({ atMs }) => atMs),
    pings.map(({ dueAtMs }) => dueAtMs),
    pings.map(({ expectedAtMs }) => expectedAtMs ?? null),
  ];
  await withPartitions(database, {
    timesMs: pings.map(({ atMs }) => atMs),
    write: () => database.query({ name: "save-pings", text: insertAndShow, values: columns }),
  });
}

const lastAtMs = "(s.snapshot->>'lastAtMs')::bigint";

// In one order, that of the ids, as everywhere: two processes never wait for each other.
const insertAndShow = `
  WITH given AS (
    SELECT id, at, to_timestamp(at / 1000.0) AS came_at, due, expected
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS t (id, at, due, expected)
  ), added AS (
    INSERT INTO check_results (check_id, scheduled_at, location, started_at, grade, duration_ms)
    SELECT id, came_at, 'ping', came_at, 'ok', 0 FROM given ORDER BY id, at
    ON CONFLICT DO NOTHING
  ), last AS (
    SELECT id, max(at) AS at, max(due) AS due, max(expected) AS expected FROM given GROUP BY id
  ), locked AS (
    SELECT s.check_id, last.at, last.due, last.expected FROM check_snapshots s JOIN last ON last.id = s.check_id
    ORDER BY s.check_id FOR UPDATE OF s
  )
  UPDATE check_snapshots s
  SET snapshot = s.snapshot || jsonb_build_object('lastAtMs', locked.at, 'dueAtMs', locked.due)
    || CASE WHEN locked.expected IS NULL THEN '{}' ELSE jsonb_build_object('expectedAtMs', locked.expected) END
  FROM locked
  WHERE s.check_id = locked.check_id AND s.snapshot->>'status' = 'ok'
    AND (coalesce(${lastAtMs}, 0) < locked.at OR ${aheadInSql(`to_timestamp(${lastAtMs} / 1000.0)`)})`;
