/** Finds out if a token is known. Unauthenticated callers may send many: concurrent look-ups share one query. */
import type { Database } from "#kernel/database.ts";
import { createGroups } from "#kernel/groups.ts";

/** `tokenHash`: a token's SHA-256. */
export type IsKnownToken = (tokenHash: Buffer) => Promise<boolean>;

export function createIsKnownToken(
  database: Database,
  table: "heartbeats" | "check_runners",
): IsKnownToken {
  const findKnown = `
    SELECT encode(token_hash, 'hex') AS token FROM ${table} WHERE token_hash = ANY ($1::bytea[])`;
  return createGroups(async (hashes: readonly Buffer[]) => {
    const { rows } = await database.query(findKnown, [hashes]);
    const known = new Set(rows.map(({ token }) => token));
    return hashes.map((hash) => known.has(hash.toString("hex")));
  });
}
