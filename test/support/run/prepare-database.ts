/** A database for one test file. */
import { afterAll, beforeAll } from "vitest";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import type { TestDatabase } from "../servers/servers.ts";
import { createTestDatabase, type WantedDatabase } from "./shared-postgres.ts";

const log = createLog({ level: "silent", format: "json" });

/** `database()` answers it once the file's tests run. */
export function prepareDatabase(wanted: WantedDatabase = {}): {
  database: () => Database;
  url: () => string;
} {
  let server: TestDatabase | undefined;
  let database: Database | undefined;
  beforeAll(async () => {
    server = await createTestDatabase(wanted);
    database = openDatabase(server.url, log);
  });
  afterAll(async () => {
    await database?.end();
    await server?.stop();
  });
  const need = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("the database has not been started");
    return value;
  };
  return { database: () => need(database), url: () => need(server).url };
}
