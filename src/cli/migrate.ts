/** `vedette migrate`: brings the schema of a Postgres of one's own up to date, as a start would, and ends. */
import { databaseSettings } from "#app/data.ts";
import { readConfig } from "#config.ts";
import { migrate } from "#kernel/database.ts";
import { namingSetting } from "#kernel/database-faults.ts";
import { createLog } from "#kernel/log.ts";

export async function migrateDatabase(options: { config?: string }): Promise<number> {
  const config = readConfig({ file: options.config, environment: process.env });
  const { url, direct_url: directUrl } = config.database;
  if (url === "" && directUrl === "") {
    throw new Error(
      "database.url: set the address of the Postgres to migrate (DATABASE_URL, or DATABASE_URL_FILE); " +
        "the embedded one is migrated by `vedette start`",
    );
  }
  const log = createLog(config.log);
  const migrations = await namingSetting(databaseSettings(config).ofDirect, () =>
    migrate(directUrl || url, log, { mayBePooled: directUrl !== "" }),
  );
  log.info({ migrations }, "database migrated");
  return 0;
}
