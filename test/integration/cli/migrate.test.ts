/** `vedette migrate`, as a job before an upgrade runs it. */
import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { migrationsDir, migrationsTable } from "#kernel/schema-version.ts";
import { type CommandEnd, runVedette } from "../../support/program/command.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import { tempDir } from "../../support/temp-dir.ts";

const known = readdirSync(migrationsDir)
  .map((file) => path.parse(file).name)
  .sort();

async function createDatabase(): Promise<string> {
  const database = await createTestDatabase({ isEmpty: true });
  onTestFinished(database.stop);
  return database.url;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  return client.query(sql).then(
    ({ rows }) => client.end().then(() => rows),
    (error) => client.end().then(() => Promise.reject(error)),
  );
}

/** In a directory without settings, with the URL in a file as a Secret is mounted. */
function runMigrate(url: string): Promise<CommandEnd> {
  const directory = tempDir();
  const file = path.join(directory, "database-url");
  writeFileSync(file, `${url}\n`);
  const environment = { DATABASE_URL_FILE: file, VEDETTE_LOG__FORMAT: "json" };
  return runVedette(["migrate"], environment, directory);
}

const reported = ({ stdout }: CommandEnd) => JSON.parse(stdout.trim());

it("runs every migration once, and says which", async () => {
  const url = await createDatabase();

  const first = await runMigrate(url);
  const second = await runMigrate(url);

  const rows = await query(url, `SELECT name FROM ${migrationsTable} ORDER BY name`);
  expect(rows.map(({ name }) => name)).toEqual(known);
  expect(reported(first)).toMatchObject({ msg: "database migrated", migrations: known });
  expect(reported(second)).toMatchObject({ msg: "database migrated", migrations: [] });
  expect([first.code, second.code]).toEqual([0, 0]);
});

it("refuses a database that a newer version has migrated", async () => {
  const url = await createDatabase();
  await runMigrate(url);
  await query(url, `INSERT INTO ${migrationsTable} (name, run_on) VALUES ('9999_later', now())`);

  const { code, stderr } = await runMigrate(url);

  expect(code).toBe(1);
  expect(stderr).toContain("the database was migrated by a newer Vedette (9999_later)");
});

it("says what to set without an address, and shows no password of one that does not answer", async () => {
  const unset = await runVedette(["migrate"], {}, tempDir());
  const away = await runMigrate("postgres://vedette:hunter2secret@127.0.0.1:1/vedette");

  expect(unset.stderr).toMatch(/^vedette: database\.url: set the address of the Postgres/);
  expect(away.stderr).toMatch(/ECONNREFUSED/);
  expect(away.stdout + away.stderr).not.toContain("hunter2secret");
  expect([unset.code, away.code]).toEqual([1, 1]);
});
