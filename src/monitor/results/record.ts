/** Writes what checks found. Every write is idempotent. */
import type { AlertTransition } from "#alerts/contract.ts";
import type { Database, Queries } from "#kernel/database.ts";
import { toStorable } from "#kernel/text.ts";
import type { CheckResult } from "#monitor/contract.ts";
import type { SuppressionSpan } from "#monitor/related.ts";
import type { MissedRuns } from "#monitor/rules/grid.ts";
import { saveEpisodes } from "./episodes.ts";
import { withPartitions } from "./partitions.ts";

/** Records that decisions make. */
export type Records = {
  results: CheckResult[];
  missed: (MissedRuns & { checkId: string })[];
  transitions: AlertTransition[];
  suppressions: (SuppressionSpan & { checkId: string })[];
};

/** The records that were not stored before. */
export type Written = { newResults: CheckResult[]; newMissed: Records["missed"] };

/**
 * Writes records within the transaction of the decisions, with a statement for each kind. No text makes one fail.
 * Throws if the partition of a result is missing: wrap the transaction in `withPartitions`.
 */
export async function writeEffects(
  transaction: Queries,
  { results, missed, transitions, suppressions }: Records,
): Promise<Written> {
  const newResults = results.length === 0 ? [] : await saveResults(transaction, results);
  const newMissed = missed.length === 0 ? [] : await saveMissed(transaction, missed);
  if (transitions.length > 0) {
    const records = transitions.map((event) => ({ event, deliveredAtMs: null }));
    await saveEpisodes(transaction, records);
  }
  if (suppressions.length > 0) await saveSuppressions(transaction, suppressions);
  return { newResults, newMissed };
}

/** One that exists already (check, tick, location) does not change. Returns the new ones. */
async function saveResults(
  database: Queries,
  results: readonly CheckResult[],
): Promise<CheckResult[]> {
  const columns = [
    results.map(({ checkId }) => checkId),
    results.map(({ scheduledAtMs }) => new Date(scheduledAtMs)),
    results.map(({ location }) => toStorable(location)),
    results.map(({ startedAtMs }) => new Date(startedAtMs)),
    results.map(({ grade }) => grade),
    results.map(({ cause }) => cause),
    results.map(({ durationMs }) => toReal(durationMs)),
    results.map(({ phases }) => toReal(phases.dns)),
    results.map(({ phases }) => toReal(phases.connect)),
    results.map(({ phases }) => toReal(phases.tls)),
    results.map(({ phases }) => toReal(phases.firstByte)),
    results.map(({ phases }) => toReal(phases.transfer)),
    results.map(({ status }) => status),
    results.map(({ reason }) => (reason === null ? null : toStorable(reason))),
    results.map(({ tlsDaysLeft }) => tlsDaysLeft),
  ];
  const { rows } = await database.query({
    name: "save-results",
    text: insertResults,
    values: columns,
  });
  const inserted = new Set(
    rows.map((row) => keyOf(row.check_id, row.location, row.scheduled_at.getTime())),
  );
  // A duplicate in the same list is new once.
  return results.filter(({ checkId, location, scheduledAtMs }) =>
    inserted.delete(keyOf(checkId, toStorable(location), scheduledAtMs)),
  );
}

/** Postgres refuses a number that is too small for the type, where others round it to 0. */
function toReal(value: number | null): number | null {
  return value === null ? null : Math.fround(value);
}

function keyOf(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}

// Rows are locked in one order, so that two processes never deadlock; here and below.
const insertResults = `
  INSERT INTO check_results (check_id, scheduled_at, location, started_at, grade, cause, duration_ms,
    dns_ms, connect_ms, tls_ms, first_byte_ms, transfer_ms, status, reason, tls_days_left)
  SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::timestamptz[], $5::text[],
    $6::text[], $7::real[], $8::real[], $9::real[], $10::real[], $11::real[], $12::real[],
    $13::integer[], $14::text[], $15::integer[])
  ORDER BY 1, 2, 3
  ON CONFLICT DO NOTHING RETURNING check_id, location, scheduled_at`;

/** Stores that checks were not run from the first to the last of these ticks. Returns the new ones. */
async function saveMissed(
  database: Queries,
  missed: Records["missed"],
): Promise<Records["missed"]> {
  const { rows } = await database.query(insertMissed, [
    missed.map(({ checkId }) => checkId),
    missed.map(({ fromMs }) => new Date(fromMs)),
    missed.map(({ toMs }) => new Date(toMs)),
    missed.map(({ ticks }) => ticks),
  ]);
  const inserted = new Set(rows.map((row) => keyOf(row.check_id, row.from_at.getTime())));
  return missed.filter(({ checkId, fromMs }) => inserted.delete(keyOf(checkId, fromMs)));
}

const insertMissed = `
  INSERT INTO check_missed_ticks (check_id, from_at, to_at, ticks)
  SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::integer[]) ORDER BY 1, 2
  ON CONFLICT DO NOTHING RETURNING check_id, from_at`;

/** Stores that checks were suppressed; an end that is stored does not change. */
async function saveSuppressions(database: Queries, spans: Records["suppressions"]): Promise<void> {
  await database.query(insertSuppressions, [
    spans.map(({ checkId }) => checkId),
    spans.map(({ sinceMs }) => new Date(sinceMs)),
    spans.map(({ untilMs }) => (untilMs === null ? null : new Date(untilMs))),
    spans.map(({ by }) => by),
    spans.map(({ reason }) => toStorable(reason)),
  ]);
}

// Of two with one beginning, the one with an end: a statement may not update a row twice.
const insertSuppressions = `
  INSERT INTO check_suppressions AS known (check_id, began_at, ended_at, suppressed_by, reason)
  SELECT DISTINCT ON (check_id, began_at) *
  FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::text[], $5::text[])
    AS given (check_id, began_at, ended_at, suppressed_by, reason)
  ORDER BY check_id, began_at, ended_at
  ON CONFLICT (check_id, began_at) DO UPDATE SET ended_at = excluded.ended_at
  WHERE known.ended_at IS NULL AND excluded.ended_at IS NOT NULL`;

/** A success of a heartbeat that is ok. */
export type PlainPing = { checkId: string; atMs: number };

/** Stores pings as results: their heartbeats' rows do not change. */
export async function savePings(database: Database, pings: readonly PlainPing[]): Promise<void> {
  if (pings.length === 0) return;
  const values = [pings.map(({ checkId }) => checkId), pings.map(({ atMs }) => atMs)];
  await withPartitions(database, {
    timesMs: pings.map(({ atMs }) => atMs),
    write: () => database.query({ name: "save-pings", text: insertPings, values }),
  });
}

const insertPings = `
  INSERT INTO check_results (check_id, scheduled_at, location, started_at, grade, duration_ms)
  SELECT id, at, 'ping', at, 'ok', 0
  FROM unnest($1::text[], $2::bigint[]) AS given (id, ms), to_timestamp(ms / 1000.0) AS at
  ORDER BY id, at
  ON CONFLICT DO NOTHING`;
