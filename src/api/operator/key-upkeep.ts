/** Migrations of keys from another program. */
import { auditSystem } from "#api/changes/audit.ts";
import { type Database, inTransaction } from "#kernel/database.ts";

/** The algorithms by which another program may have hashed its keys. */
const migrationAlgorithms = ["sha256", "github.com/seamapi/prefixed-api-key"] as const;

export type MigrationOrder = {
  id: string;
  workspaceId: string;
  algorithm: (typeof migrationAlgorithms)[number];
};

/** Creates a migration, whose id `keys.migrateKeys` takes. Throws when the id exists. */
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
