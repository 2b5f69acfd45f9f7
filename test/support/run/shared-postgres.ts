/** One Postgres for all test files that need no more than a database of their own. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { migrate } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { startTestDatabase, type TestDatabase } from "../servers/servers.ts";

/** Where the workers of a run find it. */
const variable = "TEST_POSTGRES_URL";
const template = "migrated";

/** Vitest calls it for each project of a run before all files, and what it answers after them. */
export default async function start(): Promise<() => Promise<void>> {
  // An earlier project has started it, and ends it after all of them.
  if (process.env[variable] !== undefined) return async () => {};
  const server = await startTestDatabase({ connections: 500 });
  await command(server.url, `CREATE DATABASE ${template}`);
  await migrate(withName(server.url, template), createLog({ level: "silent", format: "json" }));
  process.env[variable] = server.url;
  return server.stop;
}

export type WantedDatabase = {
  /** Without the schema of the program. */
  isEmpty?: boolean;
  /** The test ends its server, and starts it again: it gets one of its own. */
  isKilled?: boolean;
};

/** A database with the schema of the program, which is gone once it is stopped. */
export async function createTestDatabase(wanted: WantedDatabase = {}): Promise<TestDatabase> {
  const { isEmpty = false, isKilled = false } = wanted;
  const serverUrl = process.env[variable];
  // Benches run outside of vitest, and have no server in common.
  if (serverUrl === undefined || isKilled) return startAlone(isEmpty);
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await command(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${isEmpty ? "template0" : template}`);
  const refuse = () => {
    throw new Error("other tests use this server: ask for one of its own with isKilled");
  };
  return {
    url: withName(serverUrl, name),
    stop: () => command(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`),
    pid: refuse,
    kill9: refuse,
    restart: refuse,
  };
}

async function startAlone(isEmpty: boolean): Promise<TestDatabase> {
  const server = await startTestDatabase();
  if (!isEmpty) await migrate(server.url, createLog({ level: "silent", format: "json" }));
  return server;
}

async function command(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

function withName(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}
