/** Broken connections and processes that start together, with a real Postgres. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import type pg from "pg";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type Database, inTransaction, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { startTestDatabase, type TestDatabase } from "../../support/servers/servers.ts";

const log = createLog({ level: "silent", format: "json" });

let server: TestDatabase;
let database: Database;

beforeAll(async () => {
  server = await startTestDatabase();
  database = openDatabase(server.url, log);
});

afterAll(async () => {
  await database?.end();
  await server?.stop();
});

/** As when Postgres is killed. */
async function cut(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
  const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
  await database.query("SELECT pg_terminate_backend($1)", [rows[0].pid]);
  await ended;
}

it("is brought to the newest schema once by processes that start together", async () => {
  await Promise.all([1, 2, 3].map(() => migrate(server.url, log)));

  const { rows } = await database.query(
    "SELECT count(*)::int AS runs, count(DISTINCT name)::int AS names FROM schema_migrations",
  );
  expect(rows[0].runs).toBe(rows[0].names);
  expect(rows[0].names).toBeGreaterThan(0);
});

/** A proxy before the server that never answers its first connection. */
async function startSilentAtFirst(url: string): Promise<string> {
  let connections = 0;
  const { port, hostname } = new URL(url);
  const front = createServer((socket) => {
    socket.on("error", () => {});
    connections += 1;
    if (connections === 1) return;
    const behind = connect(Number(port), hostname).on("error", () => {});
    socket.pipe(behind).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(front, "listening");
  onTestFinished(() => void front.close());
  const shown = new URL(url);
  shown.port = String((front.address() as AddressInfo).port);
  return shown.href;
}

it("is migrated although the server was too busy for the first connection", async () => {
  const url = await startSilentAtFirst(server.url);

  await expect(migrate(url, log)).resolves.toEqual([]);
});

it("fails at once when there is no server", async () => {
  await expect(migrate("postgres://vedette:x@127.0.0.1:9/vedette", log)).rejects.toThrow(
    "ECONNREFUSED",
  );
});

// An error event without a listener would end the process and fail this file.
it("fails once when its connection is lost between two statements of a transaction", async () => {
  const work = inTransaction(database, async (client) => {
    await cut(client);
    await client.query("SELECT 1");
  });

  await expect(work).rejects.toThrow();
  expect((await database.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});

it("fails the next statement when the connection of a caller is lost", async () => {
  const client = await database.connect();
  await cut(client);

  await expect(client.query("SELECT 1")).rejects.toThrow();
  client.release(true);
});
