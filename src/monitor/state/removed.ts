/** Deletes what is stored of checks and heartbeats that were removed long ago. One that is defined again starts anew. */
import { dropQueues } from "#alerts/outbox.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import type { ReadDefinitions } from "#monitor/contract.ts";
import { checkIdOf } from "#monitor/drills/rules.ts";
import { deleteUrls, dropPings } from "#monitor/heartbeat/inbox.ts";

/**
 * Marks what is not defined, and deletes what was marked before this time, unless an event of it is yet to be delivered.
 * Events of one that comes back have ids that its former ones had.
 */
export async function deleteRemoved(
  database: Database,
  readDefinitions: ReadDefinitions,
  before: Date,
): Promise<void> {
  const { apiChecks, heartbeats } = await readDefinitions({ isFresh: true });
  const defined = [...apiChecks, ...heartbeats].map(({ id }) => id);
  await database.query(markRemoved, [defined]);
  await inTransaction(database, async (tx) => {
    // Locked until the commit: whoever decides one that has come back waits, and then makes a new row.
    const { rows } = await tx.query<{ id: string }>(lockRemoved, [defined, before]);
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    const busy = new Set(await dropQueues(tx, [...ids, ...ids.map((id) => checkIdOf({ id }))]));
    const idle = ids.filter((id) => !busy.has(id) && !busy.has(checkIdOf({ id })));
    await deleteUrls(tx, idle);
    await dropPings(tx, idle);
    await tx.query("DELETE FROM check_states WHERE id = ANY ($1)", [idle]);
  });
}

// Rows that are being decided are marked a minute later.
const markRemoved = `
  WITH locked AS (
    SELECT id FROM check_states WHERE (removed_at IS NULL) = (id <> ALL ($1::text[]))
    ORDER BY id FOR UPDATE SKIP LOCKED
  )
  UPDATE check_states SET removed_at = CASE WHEN id <> ALL ($1) THEN clock_timestamp() END
  WHERE id IN (SELECT id FROM locked)`;

const lockRemoved = `
  SELECT id FROM check_states
  WHERE removed_at < $2 AND id <> ALL ($1::text[]) AND wake_at IS NULL AND row #>> '{state,alert}' IS NULL
  ORDER BY id FOR UPDATE SKIP LOCKED`;
