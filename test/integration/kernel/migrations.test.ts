/** Migrates databases of earlier versions to today's schema. */
import { cpSync, readdirSync } from "node:fs";
import path from "node:path";
import { runner } from "node-pg-migrate";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AlertTransition } from "#alerts/contract.ts";
import { migrate } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { migrationsDir, migrationsTable } from "#kernel/schema-version.ts";
import { startTestDatabase, type TestDatabase } from "../../support/servers/servers.ts";
import { tempDir } from "../../support/temp-dir.ts";

const log = createLog({ level: "silent", format: "json" });

let server: TestDatabase;
let newest: string[];

beforeAll(async () => {
  server = await startTestDatabase();
  const url = await createDatabase("newest");
  await migrate(url, log);
  newest = await describeSchema(url);
});

afterAll(() => server?.stop());

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function createDatabase(name: string): Promise<string> {
  await withClient(server.url, (client) => client.query(`CREATE DATABASE ${name}`));
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

/** A database after the migrations whose names begin so, and after the statements of `changes`. */
async function createEarlier(
  name: string,
  { numbers, changes = "" }: { numbers: readonly string[]; changes?: string },
): Promise<string> {
  const url = await createDatabase(name);
  const dir = tempDir();
  const files = readdirSync(migrationsDir).filter((file) => numbers.includes(file.slice(0, 4)));
  for (const file of files) cpSync(path.join(migrationsDir, file), path.join(dir, file));
  await withClient(url, async (dbClient) => {
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    await runner({ dbClient, dir, direction: "up", migrationsTable, logger });
    await dbClient.query(changes);
  });
  return url;
}

/** Every column, constraint and index, in an order of their own. */
async function describeSchema(url: string): Promise<string[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ line: string }>(`
      SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS line
      FROM information_schema.columns WHERE table_schema = 'public'
      UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
      UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
      ORDER BY line`);
    return rows.map(({ line }) => line);
  });
}

const first = ["0001", "0002"];
const monitored = [...first, "0003", "0005", "0006", "0007", "0009"];

it.each([
  { name: "joined_limits", numbers: [...first, "0005"] },
  { name: "joined_monitor", numbers: [...first, "0003", "0005", "0007", "0009"] },
  { name: "joined_routes", numbers: [...monitored, "0012"] },
  { name: "joined_keys", numbers: [...monitored, "0008", "0012", "0013", "0022"] },
  { name: "joined_orders", numbers: [...monitored, "0008", "0012", "0013", "0018", "0022"] },
])("is the newest schema although later numbers have run already: $name", async (earlier) => {
  const url = await createEarlier(earlier.name, earlier);

  await migrate(url, log);

  expect(await describeSchema(url)).toEqual(newest);
});

const heartbeat = "INSERT INTO heartbeats (id, token_hash, last_ping_at";

it.each([
  {
    name: "without_deadlines",
    numbers: monitored,
    changes: `ALTER TABLE heartbeats DROP COLUMN allowance, DROP COLUMN due_at;
      ${heartbeat}, is_watched) VALUES ('backup', 'x', '2026-01-01', false);`,
  },
  {
    name: "with_deadlines_of_some",
    numbers: monitored,
    changes: `ALTER TABLE heartbeats ALTER COLUMN due_at DROP NOT NULL;
      DROP INDEX heartbeats_due;
      CREATE INDEX heartbeats_due ON heartbeats (due_at) WHERE due_at IS NOT NULL;
      ${heartbeat}, allowance) VALUES ('backup', 'x', '2026-01-01', '1 min');`,
  },
  {
    name: "with_what_was_told",
    numbers: monitored,
    changes: `ALTER TABLE heartbeats ADD COLUMN told_at timestamptz;
      ${heartbeat}, allowance, due_at) VALUES ('backup', 'x', '2026-01-01', '1 min', now());`,
  },
])("keeps the heartbeats that an early version has noted: $name", async (earlier) => {
  const url = await createEarlier(earlier.name, earlier);

  await migrate(url, log);

  const { rows } = await withClient(url, (client) =>
    client.query("SELECT id, last_ping_at, is_watched, due_at <= now() AS due FROM heartbeats"),
  );
  const last_ping_at = new Date("2026-01-01T00:00:00Z");
  expect(rows).toEqual([{ id: "backup", last_ping_at, is_watched: true, due: true }]);
  expect(await describeSchema(url)).toEqual(newest);
});

it("keeps the alert events that an early version recorded", async () => {
  const changes = `ALTER TABLE alert_events DROP COLUMN transition;
    ALTER TABLE check_runners DROP COLUMN seen_at;
    INSERT INTO alert_events (event_id, check_id, name, episode, kind, environment, channel, status,
      attempts, event_at, queued_at)
    VALUES ('liveness:1:opened', 'liveness', 'Liveness', 1, 'opened', 'production', 'page', 'dead', 3,
      now(), now());`;
  const url = await createEarlier("without_transitions", { numbers: monitored, changes });

  await migrate(url, log);

  const { rows } = await withClient(url, (client) =>
    client.query("SELECT transition FROM alert_events"),
  );
  expect(rows.map(({ transition }) => AlertTransition.parse(transition))).toMatchObject([
    { kind: "opened", eventId: "liveness:1:opened", checkId: "liveness", episode: 1 },
  ]);
  expect(await describeSchema(url)).toEqual(newest);
});

it("tells of rollouts that have ended before how they did", async () => {
  const numbers = readdirSync(migrationsDir).map((file) => file.slice(0, 4));
  const rollout = (id: string, state: string, reverted = 0) => `
    INSERT INTO rollouts (id, image, requested_image, wave_percentages, state, reverted, started_at, updated_at)
    VALUES ('${id}', 'i', 'i', '{100}', '${state}', ${reverted}, now(), now());`;
  const changes = [
    rollout("done", "completed"),
    rollout("left", "cancelled"),
    rollout("back", "cancelled", 2),
    rollout("none-to-revert", "cancelled"),
    rollout("open", "paused"),
    `INSERT INTO rollout_messages (rollout_id, sequence, event, at, message)
     VALUES ('none-to-revert', 7, 'rollback completed', now(), '{}');`,
  ].join("\n");
  const earlier = numbers.filter((number) => number < "0027");
  const url = await createEarlier("without_outcomes", { numbers: earlier, changes });

  await migrate(url, log);

  const { rows } = await withClient(url, (client) =>
    client.query("SELECT id, outcome FROM rollouts ORDER BY id"),
  );
  expect(Object.fromEntries(rows.map(({ id, outcome }) => [id, outcome]))).toEqual({
    back: "rolled_back",
    done: "completed",
    left: "cancelled",
    "none-to-revert": "rolled_back",
    open: null,
  });
});
