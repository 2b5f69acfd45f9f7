/** What operator commands work with: the database that the settings name, or a running program's. */
import { userInfo } from "node:os";
import { createKeyRing } from "#api/keys/key-ring.ts";
import { claimRing, compareRing, forgetRing, refuseForeign } from "#api/keys/ring-claim.ts";
import { type ApiChange, changeApi } from "#api/operator/apis.ts";
import { createAuditReader } from "#api/operator/audit-log.ts";
import { createMigration, type MigrationOrder } from "#api/operator/key-upkeep.ts";
import { resealKeys } from "#api/operator/reseal.ts";
import { createRootKeyAdmin, type RootKeyRotation } from "#api/operator/root-keys.ts";
import { createWorkspaceAdmin } from "#api/operator/workspaces.ts";
import { readConfig } from "#config.ts";
import { loadCredentials } from "#embedded/credentials.ts";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { type Database, inTransaction, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { requireKnownSchema } from "#kernel/schema-version.ts";
import { keepRotated } from "./own-keys.ts";

export type OperatorSource = { config?: string | undefined; dataDir?: string | undefined };

export type Operator = ReturnType<typeof createOperator>;

/** Runs `work` and lets go of the database. */
export async function withOperator<Result>(
  source: OperatorSource,
  work: (operator: Operator) => Promise<Result>,
): Promise<Result> {
  const config = readConfig({ file: source.config, environment: process.env });
  const dataDir = source.dataDir ?? config.data_dir;
  const url = config.database.url || runningDatabaseUrl(dataDir);
  const database = openDatabase(url, createLog({ level: "silent", format: "json" }));
  try {
    const encryptionKeys = () =>
      config.api.encryption_keys.length > 0
        ? config.api.encryption_keys
        : [loadCredentials(dataDir).encryption_key];
    await requireKnownSchema(database);
    return await work(createOperator({ database, dataDir, encryptionKeys }));
  } finally {
    await database.end();
  }
}

type OperatorParts = {
  database: Database;
  dataDir: string;
  encryptionKeys: () => readonly string[];
};

function createOperator({ database, dataDir, encryptionKeys }: OperatorParts) {
  const actor = `operator:${userInfo().username}`;
  return {
    workspaces: createWorkspaceAdmin(database, actor),
    rootKeys: createRootKeyAdmin(database, actor),
    audit: createAuditReader(database),
    /** Where a replaced key is one that a program on this machine keeps, it gets the new one. */
    keepRotated: (rotated: RootKeyRotation) => keepRotated(dataDir, rotated),
    changeApi: (order: { id: string; change: ApiChange }) => changeApi(database, actor, order),
    createMigration: (order: MigrationOrder) => createMigration(database, actor, order),
    resealKeys: async () => {
      const keyRing = createKeyRing(encryptionKeys());
      const verdict = await compareRing(database, keyRing.marks);
      refuseForeign(verdict);
      const resealed = await resealKeys(database, keyRing);
      // Keys that nobody has named yet are not named by a command, which may have been given others.
      if (verdict.state === "newer") {
        await inTransaction(database, (transaction) => claimRing(transaction, keyRing.marks));
      }
      return resealed;
    },
    forgetEncryptionKeys: () => forgetRing(database),
  };
}
