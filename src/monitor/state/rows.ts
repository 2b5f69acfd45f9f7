/** The rows of checks and heartbeats in Postgres: locked in the order of their ids, read, inserted and written. */
import { isDeepStrictEqual } from "node:util";
import type { Queries } from "#kernel/database.ts";
import { toStorableJson } from "#kernel/text.ts";
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { type Decided, newApiRow, newHeartbeatRow, type Row } from "./row.ts";

export type Stored = { id: string; row: Row; wakeAtMs: number | null };

export type ById = {
  apiChecks: ReadonlyMap<string, ApiCheck>;
  heartbeats: ReadonlyMap<string, Heartbeat>;
};

const indexes = new WeakMap<Definitions, ById>();

/** Computed once for the same definitions. */
export function indexOf(definitions: Definitions): ById {
  const known = indexes.get(definitions);
  if (known !== undefined) return known;
  const made = {
    apiChecks: new Map(definitions.apiChecks.map((check) => [check.id, check])),
    heartbeats: new Map(definitions.heartbeats.map((heartbeat) => [heartbeat.id, heartbeat])),
  };
  indexes.set(definitions, made);
  return made;
}

type StoredRow = { id: string; row: Row; wake_ms: number | null };

/** The most rows that one transaction takes of those that are due. */
const mostDue = 500;

const columns = `id, row, round(extract(epoch FROM wake_at) * 1000)::float8 AS wake_ms`;

const selectDue = `
  SELECT ${columns} FROM check_states WHERE wake_at <= statement_timestamp()
  ORDER BY wake_at LIMIT ${mostDue} FOR UPDATE SKIP LOCKED`;

const selectThese = `SELECT ${columns} FROM check_states WHERE id = ANY ($1) ORDER BY id FOR UPDATE`;

type Read = () => Promise<ById>;

/** Locks rows whose time has come and that no other process has locked, the longest overdue first. */
export async function lockDue(tx: Queries, readDefinitions: Read): Promise<Locked> {
  const { rows } = await tx.query<StoredRow>({ name: "lock-due", text: selectDue });
  return toLocked(tx, { rows, definitions: await readDefinitions() });
}

/** Locks the rows of these ids in one order; makes those that are defined and have none yet. */
export async function lockRows(
  tx: Queries,
  ids: readonly string[],
  readDefinitions: Read,
): Promise<Locked> {
  const lock = () => tx.query<StoredRow>({ name: "lock-these", text: selectThese, values: [ids] });
  const { rows } = await lock();
  const definitions = await readDefinitions();
  const known = new Set(rows.map(({ id }) => id));
  const missing = ids.filter((id) => !known.has(id) && rowFor(id, definitions, 0) !== null);
  if (missing.length === 0) return toLocked(tx, { rows, definitions });
  await insertRows(tx, missing, definitions);
  return toLocked(tx, { rows: (await lock()).rows, definitions });
}

export type Locked = { rows: Stored[]; nowMs: number; definitions: ById };

async function toLocked(
  tx: Queries,
  { rows, definitions }: { rows: readonly StoredRow[]; definitions: ById },
): Promise<Locked> {
  const stored = rows.map(({ id, row, wake_ms }) => ({ id, row, wakeAtMs: wake_ms }));
  return { rows: stored, nowMs: await readNow(tx), definitions };
}

/** Read once the rows are locked: one that was waited for is decided by the time after that. */
async function readNow(tx: Queries): Promise<number> {
  const { rows } = await tx.query<{ now_ms: number }>({ name: "read-now", text: selectNow });
  return rows[0]?.now_ms ?? 0;
}

const selectNow = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms";

function rowFor(id: string, { apiChecks, heartbeats }: ById, nowMs: number): Row | null {
  if (apiChecks.has(id)) return newApiRow(nowMs);
  return heartbeats.has(id) ? newHeartbeatRow() : null;
}

async function insertRows(tx: Queries, ids: readonly string[], definitions: ById): Promise<void> {
  const nowMs = await readNow(tx);
  const made = ids.map((id) => rowFor(id, definitions, nowMs));
  await tx.query(insertMissing, [ids, made.map((row) => row?.kind), made.map(toStorableJson)]);
}

const insertMissing = `
  INSERT INTO check_states (id, kind, row)
  SELECT * FROM unnest($1::text[], $2::text[], $3::jsonb[]) ORDER BY 1 ON CONFLICT DO NOTHING`;

export type DependencyRow = { row: Row; lastPingAtMs: number | null };

/** As committed: the decision of another transaction counts from its commit on. */
export async function readOthers(
  tx: Queries,
  ids: readonly string[],
): Promise<Map<string, DependencyRow>> {
  const { rows } = await tx.query<{ id: string; row: Row; ping_ms: number | null }>(selectOthers, [
    ids,
  ]);
  return new Map(rows.map(({ id, row, ping_ms }) => [id, { row, lastPingAtMs: ping_ms }]));
}

const selectOthers = `
  SELECT s.id, s.row, round(extract(epoch FROM h.last_ping_at) * 1000)::float8 AS ping_ms
  FROM check_states s LEFT JOIN heartbeats h USING (id) WHERE s.id = ANY ($1)`;

export type Change = { id: string; before: Stored; decided: Decided<Row> };

/** Writes those that have changed. */
export async function saveRows(tx: Queries, outcomes: readonly Change[]): Promise<void> {
  const changed = outcomes.filter(({ before, decided }) => {
    const isSame = decided.wakeAtMs === before.wakeAtMs;
    return !(isSame && isDeepStrictEqual(decided.row, before.row));
  });
  if (changed.length === 0) return;
  await tx.query({
    name: "save-rows",
    text: updateRows,
    values: [
      changed.map(({ id }) => id),
      changed.map(({ decided }) => decided.row.kind),
      changed.map(({ decided }) => toStorableJson(decided.row)),
      changed.map(({ decided }) => decided.wakeAtMs),
    ],
  });
}

const updateRows = `
  UPDATE check_states s
  SET kind = given.kind, row = given.row, wake_at = to_timestamp(given.wake / 1000.0), removed_at = NULL
  FROM unnest($1::text[], $2::text[], $3::jsonb[], $4::float8[]) AS given (id, kind, row, wake)
  WHERE s.id = given.id`;
