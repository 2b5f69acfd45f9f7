/** `vedette migrate`, as a job before an upgrade runs it. */
import { randomUUID } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { migrationsDir, migrationsTable } from "#kernel/database.ts";
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

/** The address of a database, changed. */
type Change = (url: URL) => unknown;

const password = "wrong-horse-battery";

/** Makes a user of the server of `url` and puts it into the address. */
async function asUser(url: URL, options = ""): Promise<void> {
  const name = `user_${randomUUID().replaceAll("-", "")}`;
  await query(url.href, `CREATE USER ${name} PASSWORD '${password}' ${options}`);
  onTestFinished(() => query(owner.href, `DROP USER ${name}`).then(() => {}));
  const owner = new URL(url);
  owner.pathname = "/postgres";
  url.username = name;
  url.password = password;
}

const wrong: [string, Change, RegExp][] = [
  [
    "a port at which nothing listens",
    (url) => Object.assign(url, { port: "9" }),
    /nothing listens at .*:9 /,
  ],
  [
    "a host that there is not",
    (url) => Object.assign(url, { hostname: "db.invalid" }),
    /there is no host db\.invalid/,
  ],
  [
    "a wrong password",
    (url) => Object.assign(url, { password: password }),
    /Postgres refused the password of user \w+/,
  ],
  [
    "a database that there is not",
    (url) => Object.assign(url, { pathname: "/vedete" }),
    /there is no database vedete on that server/,
  ],
  [
    "TLS where the server has none",
    (url) => url.searchParams.set("sslmode", "require"),
    /the server takes no TLS/,
  ],
  [
    "a user without a connection left",
    (url) => asUser(url, "CONNECTION LIMIT 0"),
    /the server has no connection left/,
  ],
  [
    "a server that is read-only",
    (url) =>
      query(
        url.href,
        `ALTER DATABASE ${url.pathname.slice(1)} SET default_transaction_read_only = on`,
      ),
    /that server is read-only/,
  ],
  ["a user without rights", (url) => asUser(url), /user \w+ lacks rights in database \w+/],
];

it.each(wrong)("names database.url for %s, and never a password", async (_, change, words) => {
  const url = new URL(await createDatabase());
  await change(url);

  const { code, stderr } = await runMigrate(url.href);

  expect(stderr).toMatch(/^vedette: database\.url: /m);
  expect(stderr).toMatch(words);
  expect(stderr).not.toContain(url.password);
  expect(code).toBe(1);
});

it("a start names database.url, too", async () => {
  const url = new URL(await createDatabase());
  url.pathname = "/vedete";
  const directory = tempDir();
  const environment = {
    DATABASE_URL: url.href,
    VEDETTE_LOG__FORMAT: "json",
    VEDETTE_METRICS__PORT: "0",
    VEDETTE_DATA_DIR: path.join(directory, "data"),
  };

  const { code, stderr } = await runVedette(["start", "--role", "api"], environment, directory);

  expect(stderr).toContain("database.url: there is no database vedete on that server");
  expect(code).toBe(1);
});
