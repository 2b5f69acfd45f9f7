/** Writes results, alerts and snapshots of checks. Every write is idempotent. */
import type { AlertTransition } from "#alerts/contract.ts";
import type { Database } from "#kernel/database.ts";
import { createJointWrites } from "#kernel/groups.ts";
import { aheadInSql } from "#kernel/time.ts";
import type { CheckResult, CheckSnapshot } from "#monitor/contract.ts";
import type { SuppressionSpan } from "#monitor/related.ts";
import { type EpisodeRecord, saveEpisodes } from "./episodes.ts";
import { withPartitions } from "./partitions.ts";

export type MissedTicks = { checkId: string; fromMs: number; toMs: number; ticks: number };

export type ResultWriter = ReturnType<typeof createResultWriter>;

/** Called for records that are new. */
export type CountNew = {
  results: (results: readonly CheckResult[]) => void;
  missed: (missed: MissedTicks) => void;
};

export function createResultWriter(database: Database, countNew?: CountNew) {
  // Batched: a separate write each would wait for the disk each time, and many checks write at once.
  const writeResults = createJointWrites(async (lists: readonly (readonly CheckResult[])[]) => {
    const added = await saveResults(database, lists.flat());
    countNew?.results(added);
  });
  const writeSnapshots = createJointWrites((snapshots: readonly CheckSnapshot[]) =>
    saveSnapshots(database, snapshots),
  );
  const writeEpisodes = createJointWrites((notes: readonly EpisodeRecord[]) =>
    saveEpisodes(database, notes),
  );
  return {
    /** Stores results; one that exists already (check, tick, location) does not change. */
    async results(results: readonly CheckResult[]): Promise<void> {
      if (results.length > 0) await writeResults(results);
    },

    /** Stores pings that came on time, of heartbeats that are ok. */
    async pings(pings: readonly PlainPing[]): Promise<void> {
      if (pings.length > 0) await savePings(database, pings);
    },

    /** Stores that the check was not run from the first to the last of these ticks. */
    async missed(missed: MissedTicks): Promise<void> {
      const { checkId, fromMs, toMs, ticks } = missed;
      const span = [checkId, new Date(fromMs), new Date(toMs), ticks];
      const { rowCount } = await database.query(insertMissed, span);
      if (rowCount === 1) countNew?.missed(missed);
    },

    /** Stores that an alert opened or resolved, in either order. */
    transition: (event: AlertTransition): Promise<void> =>
      writeEpisodes({ event, deliveredAtMs: null }),

    /** Stores when the receiver accepted an event; the first time counts. */
    delivered: (event: AlertTransition, atMs: number): Promise<void> =>
      writeEpisodes({ event, deliveredAtMs: atMs }),

    /** Stores that the check was suppressed; an end that is stored does not change. */
    async suppressions(checkId: string, spans: readonly SuppressionSpan[]): Promise<void> {
      const toDate = (ms: number | null) => (ms === null ? null : new Date(ms));
      await database.query(insertSuppressions, [
        checkId,
        spans.map(({ sinceMs }) => new Date(sinceMs)),
        spans.map(({ untilMs }) => toDate(untilMs)),
        spans.map(({ by }) => by),
        spans.map(({ reason }) => reason),
      ]);
    },

    /** Stores the snapshot of a check, unless a newer one is stored. */
    snapshot: (snapshot: CheckSnapshot): Promise<void> => writeSnapshots(snapshot),
  };
}

async function saveResults(
  database: Database,
  results: readonly CheckResult[],
): Promise<CheckResult[]> {
  if (results.length === 0) return [];
  return withPartitions(database, {
    timesMs: results.map(({ scheduledAtMs }) => scheduledAtMs),
    write: () => insertResults(database, results),
  });
}

async function insertResults(
  database: Database,
  results: readonly CheckResult[],
): Promise<CheckResult[]> {
  const columns = [
    results.map(({ checkId }) => checkId),
    results.map(({ scheduledAtMs }) => new Date(scheduledAtMs)),
    results.map(({ location }) => location),
    results.map(({ startedAtMs }) => new Date(startedAtMs)),
    results.map(({ grade }) => grade),
    results.map(({ cause }) => cause),
    results.map(({ durationMs }) => durationMs),
    results.map(({ phases }) => phases.dns),
    results.map(({ phases }) => phases.connect),
    results.map(({ phases }) => phases.tls),
    results.map(({ phases }) => phases.firstByte),
    results.map(({ phases }) => phases.transfer),
    results.map(({ status }) => status),
    results.map(({ reason }) => reason),
    results.map(({ tlsDaysLeft }) => tlsDaysLeft),
  ];
  const { rows } = await database.query(insertResultRows, columns);
  const inserted = new Set(
    rows.map((row) => keyOf(row.check_id, row.location, row.scheduled_at.getTime())),
  );
  // A duplicate in the same list is new once.
  return results.filter(({ checkId, location, scheduledAtMs }) =>
    inserted.delete(keyOf(checkId, location, scheduledAtMs)),
  );
}

function keyOf(checkId: string, location: string, scheduledAtMs: number): string {
  return JSON.stringify([checkId, location, scheduledAtMs]);
}

const insertResultRows = `
  INSERT INTO check_results (check_id, scheduled_at, location, started_at, grade, cause, duration_ms,
    dns_ms, connect_ms, tls_ms, first_byte_ms, transfer_ms, status, reason, tls_days_left)
  SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::timestamptz[], $5::text[],
    $6::text[], $7::real[], $8::real[], $9::real[], $10::real[], $11::real[], $12::real[],
    $13::integer[], $14::text[], $15::integer[])
  ON CONFLICT DO NOTHING RETURNING check_id, location, scheduled_at`;

const insertSuppressions = `
  INSERT INTO check_suppressions AS known (check_id, began_at, ended_at, suppressed_by, reason)
  SELECT $1, * FROM unnest($2::timestamptz[], $3::timestamptz[], $4::text[], $5::text[])
  ON CONFLICT (check_id, began_at) DO UPDATE SET ended_at = excluded.ended_at
  WHERE known.ended_at IS NULL AND excluded.ended_at IS NOT NULL`;

const insertMissed = `
  INSERT INTO check_missed_ticks (check_id, from_at, to_at, ticks) VALUES ($1, $2, $3, $4)
  ON CONFLICT DO NOTHING`;

/** `dueAtMs`: the deadline of the next ping, including the grace. `expectedAtMs`: of a heartbeat by cron. */
export type PlainPing = { checkId: string; atMs: number; dueAtMs: number; expectedAtMs?: number };

/** Stores pings' results, and sets last ping and deadline in their snapshots, unless a newer one is stored. */
async function savePings(database: Database, pings: readonly PlainPing[]): Promise<void> {
  const columns = [
    pings.map(({ checkId }) => checkId),
    pings.map(({ atMs }) => atMs),
    pings.map(({ dueAtMs }) => dueAtMs),
    pings.map(({ expectedAtMs }) => expectedAtMs ?? null),
  ];
  await withPartitions(database, {
    timesMs: pings.map(({ atMs }) => atMs),
    write: () => database.query({ name: "save-pings", text: insertAndUpdate, values: columns }),
  });
}

const lastAtMs = "(s.snapshot->>'lastAtMs')::bigint";

// Rows are locked in the order of the ids, as everywhere: two processes never wait for each other.
const insertAndUpdate = `
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
