/** Credits: kept in Postgres alone, so that they are never spent twice, whatever is killed. */
import type { Database } from "#kernel/database.ts";

/** `remaining` null: the key has no limit any more. */
export type Spending = { isPaid: boolean; remaining: number | null };

/** Takes `cost` from the key's credits if it has that many. A cost of 0 only looks. */
export async function spendCredits(
  database: Database,
  keyId: string,
  cost: number,
): Promise<Spending> {
  if (cost > 0) {
    const { rows } = await database.query<{ remaining: string | null }>({
      name: "spend-credits",
      text: `UPDATE keys SET remaining = remaining - $2
             WHERE id = $1 AND remaining >= $2 RETURNING remaining`,
      values: [keyId, cost],
    });
    if (rows[0] !== undefined) return { isPaid: true, remaining: Number(rows[0].remaining) };
  }
  const remaining = await readCredits(database, keyId);
  return { isPaid: remaining === null || remaining >= cost, remaining };
}

/** The credits left; null: no limit. */
export async function readCredits(database: Database, keyId: string): Promise<number | null> {
  const { rows } = await database.query<{ remaining: string | null }>({
    name: "read-credits",
    text: "SELECT remaining FROM keys WHERE id = $1",
    values: [keyId],
  });
  const remaining = rows[0]?.remaining ?? null;
  return remaining === null ? null : Number(remaining);
}
