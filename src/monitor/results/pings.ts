/** Keeps pings that came on time, many in two statements. Either may come twice and changes nothing then. */
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";

/** `dueAtMs`: when the next ping is awaited at the latest, grace included. */
export type PlainPing = { checkId: string; atMs: number; dueAtMs: number };

/** Moves on what is shown of heartbeats that are ok, unless something newer is known. */
export async function movePings(database: Database, pings: readonly PlainPing[]): Promise<void> {
  await database.query(moveSnapshots, [
    pings.map(({ checkId }) => checkId),
    pings.map(({ atMs }) => atMs),
    pings.map(({ dueAtMs }) => dueAtMs),
  ]);
}

const lastAtMs = "(s.snapshot->>'lastAtMs')::bigint";

const moveSnapshots = `
  WITH given AS (
    SELECT id, max(at) AS at, max(due) AS due FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS t (id, at, due)
    GROUP BY id
  ), locked AS (
    SELECT s.check_id, given.at, given.due FROM check_snapshots s JOIN given ON given.id = s.check_id
    ORDER BY s.check_id FOR UPDATE OF s
  )
  UPDATE check_snapshots s
  SET snapshot = s.snapshot || jsonb_build_object('lastAtMs', locked.at, 'dueAtMs', locked.due)
  FROM locked
  WHERE s.check_id = locked.check_id AND s.snapshot->>'status' = 'ok'
    AND (coalesce(${lastAtMs}, 0) < locked.at OR ${aheadInSql(`to_timestamp(${lastAtMs} / 1000.0)`)})`;
