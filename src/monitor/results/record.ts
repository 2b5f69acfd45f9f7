/** Writes results, alerts and snapshots of checks. Every write is idempotent. */
import type { AlertTransition } from "#alerts/contract.ts";
import type { Database } from "#kernel/database.ts";
import { createJointWrites } from "#kernel/groups.ts";
import type { CheckResult, CheckSnapshot } from "#monitor/contract.ts";
import type { SuppressionSpan } from "#monitor/dependencies/contract.ts";
import { type EpisodeNote, saveEpisodes } from "./episodes.ts";
import { withPartitions } from "./partitions.ts";
import { type PlainPing, savePings } from "./pings.ts";
import { saveSnapshots } from "./snapshots.ts";

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
      if (pings.length > 0) await savePings(database, pings);
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

/** Returns the results that are new. */
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
