/** Rows of checks and heartbeats, and their records, as decisions would have written them. */
import type { Database } from "#kernel/database.ts";
import type { CheckState, HeartbeatState } from "#monitor/contract.ts";
import { withPartitions } from "#monitor/results/partitions.ts";
import { type Written, writeEffects } from "#monitor/results/record.ts";
import { newHeartbeatState } from "#monitor/rules/deadline.ts";
import {
  type ApiRow,
  type Effects,
  type HeartbeatRow,
  newApiRow,
  newEffects,
  newHeartbeatRow,
  type Row,
} from "#monitor/state/row.ts";

export function anApiRow(changes: Partial<CheckState> = {}): ApiRow {
  const row = newApiRow(0);
  return { ...row, state: { ...row.state, status: "ok", decidedRunMs: 0, ...changes } };
}

export function aHeartbeatRow(changes: Partial<HeartbeatState> = {}): HeartbeatRow {
  const state = { ...newHeartbeatState(0), status: "ok" as const, lastPingAtMs: 0, ...changes };
  return { ...newHeartbeatRow(), state };
}

/** Stores the row of a check, in place of the one that there is. It is not decided by itself. */
export async function saveRow(database: Database, id: string, row: Row): Promise<void> {
  await database.query(upsertRow, [id, row.kind, JSON.stringify(row)]);
}

const upsertRow = `
  INSERT INTO check_states (id, kind, row) VALUES ($1, $2, $3)
  ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, row = excluded.row, wake_at = NULL`;

/** Writes records as a decision does. */
export function saveRecords(database: Database, effects: Partial<Effects>): Promise<Written> {
  const all = { ...newEffects(), ...effects };
  return withPartitions(database, {
    timesMs: all.results.map(({ scheduledAtMs }) => scheduledAtMs),
    write: () => writeEffects(database, all),
  });
}
