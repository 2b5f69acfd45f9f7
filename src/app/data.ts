/** Wires the database: who may use it, and its schema. */
import type { Config } from "#config.ts";
import type { Database } from "#kernel/database.ts";
import { migrate, openDatabase } from "#kernel/database.ts";
import { namingSetting } from "#kernel/database-fault.ts";
import { readMissingMigrations } from "#kernel/schema-version.ts";
import type { Base } from "./base.ts";
import { claimEncryptionKeys, refuseOtherKeys } from "./encryption-keys.ts";
import { requireSoleProcess } from "./sole-processes.ts";
import type { Stops } from "./stops.ts";

export type ApiDatabase = {
  database: Database;
  databaseUrl: string;
  /** Of Postgres itself, even if `databaseUrl` is a pooler's. */
  directUrl: string;
};

type DataParts = {
  roles: readonly string[];
  /** postgres://…, maybe with a password. */
  url: string;
  stops: Stops;
  /** Called once it is sure that this program may use the database, before its schema is changed. */
  onAllowed: () => void;
};

/** Opens the database, unless this process may not use it, and brings its schema up to date. */
export async function openData(
  base: Base,
  { roles, url, stops, onAllowed }: DataParts,
): Promise<ApiDatabase> {
  const { config, log } = base;
  const { direct_url } = config.database;
  const directUrl = direct_url || url;
  const mayBePooled = direct_url !== "";
  const { ofPool, ofDirect } = databaseSettings(config);
  await namingSetting(ofDirect, () =>
    requireSoleProcess(base, { roles, directUrl, mayBePooled, stops }),
  );
  const database = openDatabase(url, log);
  stops.add("database", () => database.end());
  await namingSetting(ofPool, async () => {
    await refuseOtherKeys(base, { roles, database });
    await readMissingMigrations(database);
  });
  onAllowed();
  await namingSetting(ofDirect, () => migrate(directUrl, log, { mayBePooled }));
  await claimEncryptionKeys(base, { roles, database });
  return { database, databaseUrl: url, directUrl };
}

/** The settings by which errors of Postgres are named; empty addresses: it is the embedded one. */
export function databaseSettings({ database: { url, direct_url } }: Pick<Config, "database">) {
  const ofPool = { setting: "database.url", url };
  return {
    ofPool,
    ofDirect: direct_url === "" ? ofPool : { setting: "database.direct_url", url: direct_url },
  };
}
