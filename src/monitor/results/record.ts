/** Writes results, alerts and snapshots of checks. Every write is idempotent. */
import type { AlertTransition } from "#alerts/contract.ts";
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";
import { createJointWrites } from "#kernel/groups.ts";
import type { CheckResult, CheckSnapshot } from "#monitor/contract.ts";
import { type EpisodeNote, saveEpisodes } from "./episodes.ts";
import { makePartition } from "./partitions.ts";
import { type PlainPing, updatePings } from "./pings.ts";

export type MissedTicks = { checkId: string; fromMs: number; toMs: number; ticks: number };

export type ResultWriter = ReturnType<typeof createResultWriter>;

/** Called for records that are new. */
export type NoteNew = {
  results: (results: readonly CheckResult[]) => void;
  missed: (missed: MissedTicks) => void;
};

export function createResultWriter(database: Database, noteNew?: NoteNew) {
  // Batched: a separate write each would wait for the disk each time, and many checks write at once.
  const writeResults = createJointWrites(async (lists: readonly (readonly CheckResult[])[]) => {
    const added = await saveResults(database, lists.flat());
    noteNew?.results(added);
  });
  const writeSnapshots = createJointWrites((snapshots: readonly CheckSnapshot[]) =>
    saveSnapshots(database, snapshots),
  );
  const writeEpisodes = createJointWrites((notes: readonly EpisodeNote[]) =>
    saveEpisodes(database, notes),
  );
  return {
    /** Stores results; one that exists already (check, tick, location) does not change. */
    async results(results: readonly CheckResult[]): Promise<void> {
      if (results.length > 0) await writeResults(results);
    },

    /** Stores pings that came on time, of heartbeats that are ok. */
    async pings(pings: readonly PlainPing[]): Promise<void> {
      if (pings.length === 0) return;
      await saveResults(database, pings.map(resultOfPing));
      await updatePings(database, pings);
    },

    /** Stores that the check was not run from the first to the last of these ticks. */
    async missed(missed: MissedTicks): Promise<void> {
      const { checkId, fromMs, toMs, ticks } = missed;
      const span = [checkId, new Date(fromMs), new Date(toMs), ticks];
      const { rowCount } = await database.query(insertMissed, span);
      if (rowCount === 1) noteNew?.missed(missed);
    },

    /** Stores that an alert opened or resolved, in either order. */
    transition: (event: AlertTransition): Promise<void> =>
      writeEpisodes({ event, deliveredAtMs: null }),

    /** Stores when the receiver accepted an event; the first time counts. */
    delivered: (event: AlertTransition, atMs: number): Promise<void> =>
      writeEpisodes({ event, deliveredAtMs: atMs }),

    /** Stores the snapshot of a check, unless a newer one is stored. */
    snapshot: (snapshot: CheckSnapshot): Promise<void> => writeSnapshots(snapshot),
  };
}

/** Stores the newest snapshot of each check; of two with the same time, the later in the list. */
async function saveSnapshots(
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

/** Returns the results that are new. */
async function saveResults(
  database: Database,
  results: readonly CheckResult[],
): Promise<CheckResult[]> {
  if (results.length === 0) return [];
  try {
    return await insertResults(database, results);
  } catch (error) {
    if (!isWithoutPartition(error)) throw error;
    for (const { scheduledAtMs } of results) await makePartition(database, scheduledAtMs);
    return insertResults(database, results);
  }
}

function resultOfPing({ checkId, atMs }: PlainPing): CheckResult {
  return {
    checkId,
    location: "ping",
    scheduledAtMs: atMs,
    startedAtMs: atMs,
    grade: "ok",
    cause: null,
    durationMs: 0,
    phases: { dns: null, connect: null, tls: null, firstByte: null, transfer: null },
    status: null,
    reason: null,
    tlsDaysLeft: null,
  };
}

/** Postgres reports "no partition of relation found for row" with the code of a violated constraint. */
function isWithoutPartition(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "23514" && message?.includes("no partition of relation") === true;
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

const insertMissed = `
  INSERT INTO check_missed_ticks (check_id, from_at, to_at, ticks) VALUES ($1, $2, $3, $4)
  ON CONFLICT DO NOTHING`;

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
    OR ${aheadInSql("check_snapshots.taken_at")}`;
