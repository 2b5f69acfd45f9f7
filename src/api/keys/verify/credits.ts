/** Credits: stored in Postgres only, so that a crash of a process never makes them be spent twice. */
import type { Database } from "#kernel/database.ts";

/** `remaining` null: the credits are unlimited by now. */
export type Payment = { isPaid: boolean; remaining: number | null };

/** Retries when credits are added between the update and the read; in practice the first try suffices. */
const maxTries = 20;

/** Takes `cost` (0: only reads) if there is that much. Only a successful update counts: credits may be added meanwhile. */
export async function spendCredits(
  database: Database,
  keyId: string,
  cost: number,
): Promise<Payment> {
  let balance: Balance;
  for (let tries = 1; ; tries += 1) {
    if (cost > 0) {
      const left = await takeCredits(database, keyId, cost);
      if (left !== undefined) return { isPaid: true, remaining: left };
    }
    balance = await readBalance(database, keyId);
    const isWorthRetry = cost > 0 && balance !== "gone" && balance !== null && balance >= cost;
    if (!isWorthRetry || tries === maxTries) break;
  }
  if (balance === "gone") return { isPaid: false, remaining: 0 };
  return { isPaid: balance === null || cost === 0, remaining: balance };
}

/** The credits left afterwards, or undefined when there were too few. */
async function takeCredits(
  database: Database,
  keyId: string,
  cost: number,
): Promise<number | undefined> {
  const { rows } = await database.query<{ remaining: string }>({
    name: "spend-credits",
    text: `UPDATE keys SET remaining = remaining - $2
           WHERE id = $1 AND remaining >= $2 RETURNING remaining`,
    values: [keyId, cost],
  });
  return rows[0] && Number(rows[0].remaining);
}

/** The credits left; null: no limit. */
export async function readCredits(database: Database, keyId: string): Promise<number | null> {
  const balance = await readBalance(database, keyId);
  return balance === "gone" ? 0 : balance;
}

/** "gone": the key is still in a cache but no longer in the database. It has no credits. */
type Balance = number | null | "gone";

async function readBalance(database: Database, keyId: string): Promise<Balance> {
  const { rows } = await database.query<{ remaining: string | null }>({
    name: "read-credits",
    text: "SELECT remaining FROM keys WHERE id = $1",
    values: [keyId],
  });
  const row = rows[0];
  if (row === undefined) return "gone";
  return row.remaining === null ? null : Number(row.remaining);
}
