/** Updates the snapshots of heartbeats whose pings came on time, many in one idempotent statement. */
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";

/** `dueAtMs`: the deadline of the next ping, including the grace. `expectedAtMs`: of a heartbeat by cron. */
export type PlainPing = { checkId: string; atMs: number; dueAtMs: number; expectedAtMs?: number };

/** Sets last ping and deadline in the snapshots of heartbeats that are ok, unless a newer ping is stored. */
export async function updatePings(database: Database, pings: readonly PlainPing[]): Promise<void> {
  await database.query(updateSnapshots, [
    pings.map(({ checkId }) => checkId),
    pings.map(({ atMs }) => atMs),
    pings.map(({ dueAtMs }) => dueAtMs),
    pings.map(({ expectedAtMs }) => expectedAtMs ?? null),
  ]);
}

const lastAtMs = "(s.snapshot->>'lastAtMs')::bigint";

const updateSnapshots = `
  WITH given AS (
    SELECT id, max(at) AS at, max(due) AS due, max(expected) AS expected
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS t (id, at, due, expected)
    GROUP BY id
  ), locked AS (
    SELECT s.check_id, given.at, given.due, given.expected FROM check_snapshots s JOIN given ON given.id = s.check_id
    ORDER BY s.check_id FOR UPDATE OF s
  )
  UPDATE check_snapshots s
  SET snapshot = s.snapshot || jsonb_build_object('lastAtMs', locked.at, 'dueAtMs', locked.due)
    || CASE WHEN locked.expected IS NULL THEN '{}' ELSE jsonb_build_object('expectedAtMs', locked.expected) END
  FROM locked
  WHERE s.check_id = locked.check_id AND s.snapshot->>'status' = 'ok'
    AND (coalesce(${lastAtMs}, 0) < locked.at OR ${aheadInSql(`to_timestamp(${lastAtMs} / 1000.0)`)})`;
