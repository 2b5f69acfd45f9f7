/** Migrated keys: the format of their hashes, and how one of them becomes an ordinary key. */
import { hash } from "node:crypto";
import { hashKey } from "#api/cache/key-record.ts";
import type { Database } from "#kernel/database.ts";

const prefixed = "github.com/seamapi/prefixed-api-key";

/** A hash in the form in which it is stored: base64, even if it was given as hexadecimal digits. */
export function storedHash(algorithm: string, given: string): string {
  const isHex = /^[0-9a-f]{64}$/i.test(given);
  if (algorithm === prefixed || !isHex) return given;
  return Buffer.from(given, "hex").toString("base64");
}

/** Makes a migrated key an ordinary one at its first use: found by our own hash. Does nothing without such a key. */
export async function adoptMigratedKey(
  database: Database,
  of: { key: string; migrationId: string; workspaceId: string },
): Promise<void> {
  const { rows } = await database.query<{ algorithm: string }>(
    "SELECT algorithm FROM key_migrations WHERE id = $1 AND workspace_id = $2",
    [of.migrationId, of.workspaceId],
  );
  if (rows[0] === undefined) return;
  await database.query(
    `UPDATE keys SET hash = $1, start = $2, pending_migration_id = NULL
     WHERE hash = $3 AND workspace_id = $4 AND pending_migration_id = $5`,
    [
      hashKey(of.key),
      startOf(of.key),
      foreignHash(rows[0].algorithm, of.key),
      of.workspaceId,
      of.migrationId,
    ],
  );
}

/** A prefixed key is `<prefix>_<short token>_<long token>`; only the long token was hashed. */
function foreignHash(algorithm: string, key: string): string {
  if (algorithm !== prefixed) return hashKey(key);
  return hash("sha256", key.slice(key.lastIndexOf("_") + 1), "hex");
}

function startOf(key: string): string {
  const secretAt = key.lastIndexOf("_") + 1;
  return key.slice(0, Math.min(secretAt + 4, 50));
}
