/**
 * The outbox: alert events and notices that a transaction has decided, for `delivery.ts` to send after its commit. Only
 * inserts, so that it waits for no delivery. The order of a queue is that of its transactions, which must not overlap.
 */
import type { Queries } from "#kernel/database.ts";
import { toStorableJson } from "#kernel/text.ts";
import type { Order } from "./order.ts";

export type QueuedOrder = { queue: string; order: Order };

/** Adds orders in the caller's transaction, in their order. Call the delivery's `wake` after the commit. */
export function enqueue(db: Queries, orders: readonly QueuedOrder[]): Promise<void> {
  return insertRows(
    db,
    orders.map(({ queue, order }) => ({ queue, order_: order })),
  );
}

/** Makes the next attempt of queues due at once, in the caller's transaction. One that is under way ends first. */
export function goOn(db: Queries, queues: readonly string[]): Promise<void> {
  return insertRows(
    db,
    queues.map((queue) => ({ queue, order_: null })),
  );
}

type OutboxRow = { queue: string; order_: Order | null };

async function insertRows(db: Queries, rows: readonly OutboxRow[]): Promise<void> {
  if (rows.length > 0) await db.query(insertAll, [toStorableJson(rows)]);
}

// A conflict would wait for a delivery that stores its outcome: queues that are there are left out. An object stays in its order, and a JSON null becomes that of SQL.
const insertAll = `
  WITH given AS (
    SELECT queue, order_, position
    FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (queue text, order_ jsonb))
      WITH ORDINALITY AS t (queue, order_, position)
  ), added AS (
    INSERT INTO alert_queues (key) SELECT DISTINCT queue FROM given
    WHERE NOT EXISTS (SELECT FROM alert_queues q WHERE q.key = given.queue) ORDER BY queue ON CONFLICT DO NOTHING
  )
  INSERT INTO alert_outbox (queue, order_)
  SELECT queue, nullif(order_, 'null'::jsonb) FROM given ORDER BY position`;

/** Deletes the queues of these checks, but not of one that has an event that waits or is a dead letter. Returns those. */
export async function dropQueues(db: Queries, checkIds: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(dropIdle, [checkIds]);
  return rows.map(({ id }) => id);
}

const dropIdle = `
  WITH found AS (
    SELECT q.key, split_part(q.key, '@', 1) AS id,
      q.queue -> 'waiting' <> '[]' OR q.queue -> 'dead' <> '[]' OR q.drill_outcomes IS NOT NULL
        OR EXISTS (SELECT FROM alert_outbox o WHERE o.queue = q.key) AS is_busy
    FROM alert_queues q WHERE split_part(q.key, '@', 1) = ANY ($1) ORDER BY q.key FOR UPDATE
  ), busy AS (
    SELECT DISTINCT id FROM found WHERE is_busy
  ), dropped AS (
    DELETE FROM alert_queues WHERE key IN (SELECT key FROM found WHERE id NOT IN (SELECT id FROM busy))
  )
  SELECT id FROM busy`;
