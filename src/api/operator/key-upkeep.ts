/** Keys brought from elsewhere, and keys that are sealed anew after a rotation. */
import { auditSystem } from "#api/audit.ts";
import type { KeyRing } from "#api/keys/key-ring.ts";
import { type Database, inTransaction } from "#kernel/database.ts";

/** How the hashes of another program's keys were made. */
export const migrationAlgorithms = ["sha256", "github.com/seamapi/prefixed-api-key"] as const;

export type MigrationOrder = {
  id: string;
  workspaceId: string;
  algorithm: (typeof migrationAlgorithms)[number];
};

/** Lets `keys.migrateKeys` be called with this id. Throws when the id is taken. */
export async function createMigration(
  database: Database,
  actor: string,
  { id, workspaceId, algorithm }: MigrationOrder,
): Promise<void> {
  await inTransaction(database, async (transaction) => {
    const { rowCount } = await transaction.query(
      `INSERT INTO key_migrations (id, workspace_id, algorithm)
       SELECT $1, id, $3 FROM workspaces WHERE id = $2 ON CONFLICT (id) DO NOTHING`,
      [id, workspaceId, algorithm],
    );
    if (rowCount === 0) {
      throw new Error(
        `there is no workspace ${workspaceId}, or there is a migration ${id} already`,
      );
    }
    const description = `Created key migration ${id} (${algorithm})`;
    const targets = [{ type: "keyMigration", id }];
    await auditSystem(transaction, actor, [
      { workspaceId, event: "keyMigration.create", description, targets },
    ]);
  });
}

/** So many are sealed in one transaction: a reseal that is killed goes on where it was. */
const batchSize = 500;

type Row = { id: string; encryptionKeyId: string; sealed: Buffer };

/** Seals by the ring's first key what an older one sealed. Answers how many that were. */
export async function resealKeys(database: Database, keyRing: KeyRing): Promise<number> {
  let resealed = 0;
  for (;;) {
    const count = await inTransaction(database, async (transaction) => {
      const { rows } = await transaction.query<Row>(
        `SELECT key_id AS id, encryption_key_id AS "encryptionKeyId", sealed FROM encrypted_keys
         WHERE encryption_key_id <> $1 ORDER BY key_id LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [keyRing.currentId, batchSize],
      );
      for (const row of rows) {
        const { encryptionKeyId, sealed } = keyRing.seal(keyRing.open(row, row.id), row.id);
        await transaction.query(
          "UPDATE encrypted_keys SET encryption_key_id = $2, sealed = $3 WHERE key_id = $1",
          [row.id, encryptionKeyId, sealed],
        );
      }
      return rows.length;
    });
    if (count === 0) return resealed;
    resealed += count;
  }
}
