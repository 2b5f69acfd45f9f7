/** Wires the operator commands, on the database of the settings or of a running program. */
import { userInfo } from "node:os";
import { createOperator } from "#api/operator/operator.ts";
import type { RootKeyRotation } from "#api/operator/root-keys.ts";
import { type Place, type SealedRow, type Verdict, verify } from "#audit/chain.ts";
import { createAuditReader, type ExportOrder, exportRows } from "#audit/log.ts";
import { readConfig } from "#config.ts";
import { loadCredentials } from "#embedded/credentials.ts";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase, requireKnownSchema } from "#kernel/database.ts";
import { namingSetting } from "#kernel/database-faults.ts";
import { createLog } from "#kernel/log.ts";
import { rotateProofKey } from "#rollout/proof/keys.ts";
import { databaseSettings } from "./data.ts";
import { storeRotated } from "./own-keys.ts";

export type OperatorSource = { config?: string | undefined; dataDir?: string | undefined };

export type Operator = ReturnType<typeof createOperator> & {
  audit: ReturnType<typeof createAuditReader> & {
    verify: (known: Place | undefined) => Promise<Verdict>;
    export: (order: ExportOrder) => AsyncGenerator<SealedRow>;
  };
  /** Stores a rotated key in the data directory of this machine, if that has the old one. */
  storeRotated: (rotated: RootKeyRotation) => ReturnType<typeof storeRotated>;
  rotateProofKey: () => Promise<string>;
};

/** Runs `work` and closes the database. */
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
    await namingSetting(databaseSettings(config).ofPool, () => requireKnownSchema(database));
    const actor = `operator:${userInfo().username}`;
    return await work({
      ...createOperator({ database, actor, encryptionKeys }),
      audit: {
        ...createAuditReader(database),
        verify: (known) => verify(database, known),
        export: (order) => exportRows(database, order),
      },
      storeRotated: (rotated) => storeRotated(dataDir, rotated),
      rotateProofKey: () => rotateProofKey(database, actor),
    });
  } finally {
    await database.end();
  }
}
