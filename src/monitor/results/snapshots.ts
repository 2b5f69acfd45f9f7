/** Stores the newest snapshot of each check, and from it since when and until when it was suppressed. */
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";
import type { CheckSnapshot } from "#monitor/contract.ts";

/** Stores the newest snapshot of each check; of two with the same time, the later in the list. */
export async function saveSnapshots(
  database: Database,
  snapshots: readonly CheckSnapshot[],
): Promise<void> {
  const oldestFirst = snapshots.toSorted((a, b) => a.takenAtMs - b.takenAtMs);
  const rows = [...new Map(oldestFirst.map((snapshot) => [snapshot.checkId, snapshot])).values()];
  await database.query(saveAll, [
    rows.map(({ checkId }) => checkId),
    rows.map(({ takenAtMs }) => new Date(takenAtMs)),
    rows.map((snapshot) => JSON.stringify(snapshot, withoutUnwritable)),
  ]);
}

/** Postgres refuses NUL and lone surrogates in JSON: the snapshot of the check would never be updated. */
function withoutUnwritable(_name: string, value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd").toWellFormed() : value;
}

const storedPing = "(check_snapshots.snapshot->>'lastAtMs')::bigint";

// While a heartbeat is ok, pings on time are not sent to its object: only the stored row has them.
const withLaterPing = `CASE
    WHEN excluded.snapshot->>'kind' = 'heartbeat' AND excluded.snapshot->>'status' = 'ok'
      AND check_snapshots.snapshot->>'status' = 'ok'
      AND ${storedPing} > coalesce((excluded.snapshot->>'lastAtMs')::bigint, 0)
      AND NOT ${aheadInSql(`to_timestamp(${storedPing} / 1000.0)`)}
    THEN excluded.snapshot || jsonb_build_object('lastAtMs', check_snapshots.snapshot->'lastAtMs',
      'dueAtMs', check_snapshots.snapshot->'dueAtMs')
      || CASE WHEN excluded.snapshot ? 'expectedAtMs' AND check_snapshots.snapshot ? 'expectedAtMs'
        THEN jsonb_build_object('expectedAtMs', check_snapshots.snapshot->'expectedAtMs') ELSE '{}' END
    ELSE excluded.snapshot
  END`;

// Rows are locked in the order of their ids, so that two processes never deadlock.
const upsertSnapshots = `
  INSERT INTO check_snapshots (check_id, taken_at, snapshot)
  SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::jsonb[]) ORDER BY 1
  ON CONFLICT (check_id) DO UPDATE SET taken_at = excluded.taken_at, snapshot = ${withLaterPing}
  WHERE check_snapshots.taken_at <= excluded.taken_at
    -- Taken while the clock was ahead: it must not block newer ones until then.
    OR ${aheadInSql("check_snapshots.taken_at")}
  RETURNING check_id, taken_at, snapshot->'suppressed' AS suppressed`;

// A snapshot of a version that knew no suppressions does not have the member: it ends none.
const saveAll = `
  WITH stored AS (${upsertSnapshots}), told AS (
    SELECT check_id, taken_at, suppressed,
      to_timestamp((suppressed->>'sinceMs')::float8 / 1000) AS began_at
    FROM stored WHERE suppressed IS NOT NULL
  ), begun AS (
    INSERT INTO check_suppressions (check_id, began_at, suppressed_by, reason)
    SELECT check_id, began_at, suppressed->>'by', suppressed->>'reason'
    FROM told WHERE began_at IS NOT NULL ORDER BY check_id
    ON CONFLICT (check_id, began_at) DO UPDATE SET ended_at = NULL WHERE check_suppressions.ended_at IS NOT NULL
  )
  UPDATE check_suppressions AS span
  SET ended_at = greatest(span.began_at, coalesce(told.began_at, told.taken_at))
  FROM told
  WHERE span.check_id = told.check_id AND span.ended_at IS NULL
    AND span.began_at IS DISTINCT FROM told.began_at`;
