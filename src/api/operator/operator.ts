/** What operator commands do with the database of the API. */
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
import { createMigration, type MigrationOrder } from "./key-upkeep.ts";
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
