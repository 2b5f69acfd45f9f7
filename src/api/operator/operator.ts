/** The operator commands' access to the database of the API. */
import { auditSystem } from "#api/changes/audit.ts";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import {
  claimRing,
  compareRing,
  forgetRing,
  refuseForeign,
} from "#api/keys/recoverable/ring-claim.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { type ApiChange, changeApi } from "./apis.ts";
import { createAuditReader } from "./audit-log.ts";
import { resealKeys } from "./reseal.ts";
import { createRootKeyAdmin } from "./root-keys.ts";
import { createWorkspaceAdmin } from "./workspaces.ts";

type OperatorParts = {
  database: Database;
  /** The actor's name in the audit log. */
  actor: string;
  encryptionKeys: () => readonly string[];
};

export function createOperator({ database, actor, encryptionKeys }: OperatorParts) {
  return {
    workspaces: createWorkspaceAdmin(database, actor),
    rootKeys: createRootKeyAdmin(database, actor),
    audit: createAuditReader(database),
    changeApi: (order: { id: string; change: ApiChange }) => changeApi(database, actor, order),
    createMigration: (order: MigrationOrder) => createMigration(database, actor, order),
    resealKeys: async () => {
      const keyRing = createKeyRing(encryptionKeys());
      const verdict = await compareRing(database, keyRing.marks);
      refuseForeign(verdict);
      const resealed = await resealKeys(database, keyRing);
      // A command does not claim the keys of a database without marks: its settings may have other keys.
      if (verdict.state === "newer") {
        await inTransaction(database, (transaction) => claimRing(transaction, keyRing.marks));
      }
      return resealed;
    },
    forgetEncryptionKeys: () => forgetRing(database),
  };
}

/** The algorithms by which another program may have hashed its keys. */
const migrationAlgorithms = ["sha256", "github.com/seamapi/prefixed-api-key"] as const;

type MigrationOrder = {
  id: string;
  workspaceId: string;
  algorithm: (typeof migrationAlgorithms)[number];
};

/** Creates a migration, whose id `keys.migrateKeys` takes. Throws when the id exists. */
async function createMigration(
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
