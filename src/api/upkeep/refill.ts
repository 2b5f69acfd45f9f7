/** Refills the credits of keys, some hundred in a transaction. */
import type { PoolClient } from "pg";
import { announce, type Stale } from "#api/cache/invalidation.ts";
import { auditSystem } from "#api/changes/change.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { aheadInSql } from "#kernel/time.ts";

const batchSize = 500;

/** A step lasts so long before its caller saves the progress. */
const stepMs = 5_000;

export type RefillOrder = { todayMs: number; days: number[]; after: string };

type Refill = { refilled: number; after: string | undefined };

/**
 * Refills, in order of their ids, keys after `after` that are due: daily ones and those with one of
 * `days`, unless they were refilled since `todayMs` or hold more than their refill. Each key's audit
 * entry commits with it. A repetition changes nothing. `after` of the result is undefined at the end.
 */
export function createRefillKeys(database: Database) {
  return async (order: RefillOrder): Promise<Refill> => {
    const endsAt = performance.now() + stepMs;
    let refilled = 0;
    let after: string | undefined = order.after;
    while (after !== undefined && performance.now() < endsAt) {
      const from: string = after;
      const batch = await inTransaction(database, (transaction) =>
        refillBatch(transaction, { ...order, after: from }),
      );
      refilled += batch.refilled;
      after = batch.after;
    }
    return { refilled, after };
  };
}

type RefilledKey = { id: string; workspaceId: string; amount: string; hadCredits: boolean };

async function refillBatch(transaction: PoolClient, order: RefillOrder): Promise<Refill> {
  const { rows } = await transaction.query<RefilledKey>(refillStatement, [
    order.after,
    new Date(order.todayMs),
    order.days,
    batchSize,
  ]);
  await auditSystem(
    transaction,
    "keyrefill",
    rows.map(({ id, workspaceId, amount }) => ({
      workspaceId,
      event: "key.update",
      description: `Refilled key ${id} to ${amount} credits`,
      targets: [{ type: "key", id }],
    })),
  );
  // Caches hold whether a key has credits, not how many.
  const stale = rows.filter(({ hadCredits }) => !hadCredits).map(({ id }): Stale => `key:${id}`);
  await announce(transaction, stale);
  return { refilled: rows.length, after: rows.length < batchSize ? undefined : rows.at(-1)?.id };
}

/** True if a clock that was ahead wrote the last refill: the key would not be refilled before that time. */
const isWrong = aheadInSql(
  "last_refill_at",
  "greatest(clock_timestamp(), $2::timestamptz + interval '24 h')",
);

/** Locks rows by id: no deadlock. Postgres' clock may still be in yesterday: a refill counts as of today at least. */
const refillStatement = `
WITH due AS (
  SELECT id, remaining IS NOT NULL AS had_credits FROM keys
  WHERE refill_amount IS NOT NULL AND deleted_at IS NULL AND id > $1
    AND (remaining IS NULL OR remaining < refill_amount)
    AND (refill_day IS NULL OR refill_day = ANY ($3::int[]))
    AND (last_refill_at IS NULL OR last_refill_at < $2 OR ${isWrong})
  ORDER BY id LIMIT $4 FOR UPDATE
), refilled AS (
  UPDATE keys SET remaining = refill_amount, last_refill_at = greatest(now(), $2)
  FROM due WHERE keys.id = due.id
  RETURNING keys.id, workspace_id, refill_amount, had_credits
)
SELECT id, workspace_id AS "workspaceId", refill_amount AS amount, had_credits AS "hadCredits"
FROM refilled ORDER BY id`;
