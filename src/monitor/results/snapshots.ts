/** Writes the snapshots of checks. */
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
  await database.query(upsertSnapshots, [
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
  WHERE check_snapshots.taken_at <= excluded.taken_at`;
