/** Migrations after the baseline, on a database that has run some of them. */
import { cpSync, writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { migrate, migrationsDir } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import { tempDir } from "../../support/temp-dir.ts";

const log = createLog({ level: "silent", format: "json" });

/** A folder with the migrations of the program, to which `add` adds further ones. */
function createFolder() {
  const dir = tempDir();
  cpSync(migrationsDir, dir, { recursive: true });
  const add = (name: string, sql: string) => writeFileSync(path.join(dir, `${name}.sql`), sql);
  return { dir, add };
}

async function createEmptyDatabase(): Promise<string> {
  const database = await createTestDatabase({ isEmpty: true });
  onTestFinished(database.stop);
  return database.url;
}

async function readColumns(url: string, table: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client
    .query("SELECT column_name FROM information_schema.columns WHERE table_name = $1", [table])
    .finally(() => client.end());
  return rows.map(({ column_name }) => column_name).sort();
}

it("a migration is run although one with a later number has run already", async () => {
  const url = await createEmptyDatabase();
  const { dir, add } = createFolder();
  add("9003_later", "CREATE TABLE merged_late (id text)");
  await migrate(url, log, { dir });
  add("9002_earlier", "ALTER TABLE merged_late ADD COLUMN name text");

  const run = await migrate(url, log, { dir });

  expect(run).toEqual(["9002_earlier"]);
  expect(await readColumns(url, "merged_late")).toEqual(["id", "name"]);
});

it("a migration that fails changes nothing, and is run once it is right", async () => {
  const url = await createEmptyDatabase();
  const { dir, add } = createFolder();
  add("9001_table", "CREATE TABLE halfway (id text); SELECT 1 / 0");

  await expect(migrate(url, log, { dir })).rejects.toThrow("division by zero");

  expect(await readColumns(url, "halfway")).toEqual([]);
  add("9001_table", "CREATE TABLE halfway (id text)");
  expect(await migrate(url, log, { dir })).toContain("9001_table");
});
