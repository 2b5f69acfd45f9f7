/** Writes what checks found. Every write may come twice and changes nothing then. */
import type { AlertTransition } from "#alerts/contract.ts";
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";
import { createJointWrites } from "#kernel/groups.ts";
import type { CheckResult, CheckSnapshot } from "#monitor/contract.ts";
import { type EpisodeNote, keepEpisodes } from "./episodes.ts";
import { makePartition } from "./partitions.ts";
import { movePings, type PlainPing } from "./pings.ts";

export type MissedTicks = { checkId: string; fromMs: number; toMs: number; ticks: number };

export type ResultWriter = ReturnType<typeof createResultWriter>;

/** Told of what was not known before. */
export type NoteNew = {
  results: (results: readonly CheckResult[]) => void;
  missed: (missed: MissedTicks) => void;
};

export function createResultWriter(database: Database, noteNew?: NoteNew) {
  // Every write of its own is one wait for the disk, and many checks are written at once.
  const writeResults = createJointWrites(async (lists: readonly (readonly CheckResult[])[]) => {
    const unknown = await keepResults(database, lists.flat());
    noteNew?.results(unknown);
  });
  const writeSnapshots = createJointWrites((snapshots: readonly CheckSnapshot[]) =>
    keepSnapshots(database, snapshots),
  );
  const writeEpisodes = createJointWrites((notes: readonly EpisodeNote[]) =>
    keepEpisodes(database, notes),
  );
  return {
    /** Keeps results; one that is known already (check, tick, location) is left as it is. */
    async results(results: readonly CheckResult[]): Promise<void> {
      if (results.length > 0) await writeResults(results);
    },

    /** Keeps pings of heartbeats that are ok and stay so. */
    async pings(pings: readonly PlainPing[]): Promise<void> {
      if (pings.length === 0) return;
      await keepResults(database, pings.map(resultOfPing));
      await movePings(database, pings);
    },

    /** Keeps that nobody ran the check from the first to the last of these ticks. */
    async missed(missed: MissedTicks): Promise<void> {
      const { checkId, fromMs, toMs, ticks } = missed;
      const span = [checkId, new Date(fromMs), new Date(toMs), ticks];
      const { rowCount } = await database.query(insertMissed, span);
      if (rowCount === 1) noteNew?.missed(missed);
    },

    /** Keeps that an alert opened or resolved, whatever order the two come in. */
    transition: (event: AlertTransition): Promise<void> =>
      writeEpisodes({ event, deliveredAtMs: null }),

    /** Keeps when the receiver accepted an event; the first time counts. */
    delivered: (event: AlertTransition, atMs: number): Promise<void> =>
      writeEpisodes({ event, deliveredAtMs: atMs }),

    /** Keeps how a check stands, unless something newer is known. */
    snapshot: (snapshot: CheckSnapshot): Promise<void> => writeSnapshots(snapshot),
  };
}

/** Of several of one check the newest; of the same moment the one that came last. */
async function keepSnapshots(
  database: Database,
  snapshots: readonly CheckSnapshot[],
): Promise<void> {
  const oldestFirst = snapshots.toSorted((a, b) => a.takenAtMs - b.takenAtMs);
  const rows = [...new Map(oldestFirst.map((snapshot) => [snapshot.checkId, snapshot])).values()];
  await database.query(saveSnapshots, [
    rows.map(({ checkId }) => checkId),
    rows.map(({ takenAtMs }) => new Date(takenAtMs)),
    rows.map((snapshot) => JSON.stringify(snapshot, withoutUnwritable)),
  ]);
}

/** No database takes a NUL in JSON, nor half a pair of surrogates: the check would stand still as it is shown. */
function withoutUnwritable(_name: string, value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd").toWellFormed() : value;
}

/** Answers those that were not known before. */
async function keepResults(
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

/** Postgres says "no partition of relation found for row" with the code of a violated check. */
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
  // One that comes twice in the same list is new once.
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

const knownPing = "(check_snapshots.snapshot->>'lastAtMs')::bigint";

// The object of a heartbeat that is ok is told of no ping that comes on time: the row alone knows of those.
const withLaterPing = `CASE
    WHEN excluded.snapshot->>'kind' = 'heartbeat' AND excluded.snapshot->>'status' = 'ok'
      AND check_snapshots.snapshot->>'status' = 'ok'
      AND ${knownPing} > coalesce((excluded.snapshot->>'lastAtMs')::bigint, 0)
      AND NOT ${aheadInSql(`to_timestamp(${knownPing} / 1000.0)`)}
    THEN excluded.snapshot || jsonb_build_object('lastAtMs', check_snapshots.snapshot->'lastAtMs',
      'dueAtMs', check_snapshots.snapshot->'dueAtMs')
    ELSE excluded.snapshot
  END`;

// Rows are locked in one order, that of the ids: two processes never wait for each other.
const saveSnapshots = `
  INSERT INTO check_snapshots (check_id, taken_at, snapshot)
  SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::jsonb[]) ORDER BY 1
  ON CONFLICT (check_id) DO UPDATE SET taken_at = excluded.taken_at, snapshot = ${withLaterPing}
  WHERE check_snapshots.taken_at <= excluded.taken_at
    -- Taken while the clock was wrong: it must not stand until then.
    OR ${aheadInSql("check_snapshots.taken_at")}`;
