/** What is noted of the listening for pings, in a real Postgres. */
import { expect, it, onTestFinished } from "vitest";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createListener, readAbsences, startPresence } from "#monitor/heartbeat/presence.ts";
import { createTestDatabase } from "../../../support/run/shared-postgres.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

async function startBench() {
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  return database;
}

/** As if so much time had gone by since. */
function pass(database: Database, seconds: number) {
  return database.query(
    "UPDATE monitor_presence SET since = since - $1 * interval '1 s', seen_at = seen_at - $1 * interval '1 s'",
    [seconds],
  );
}

/** A database of which the statements fail. */
const away = { query: () => Promise.reject(new Error("away")) };

/** The database, or none, as the test has it. */
function startLink(database: Database) {
  const link = { isUp: true };
  const query = (...of: [string, unknown[]]) => (link.isUp ? database.query(...of) : away.query());
  return { link, linked: { query } as unknown as Database };
}

/** A listener whose second record was lost with the database, and so many seconds have gone by since. */
async function loseRecord(seconds: number) {
  const database = await startBench();
  const { link, linked } = startLink(database);
  const listener = createListener(linked);
  await listener.record();
  link.isUp = false;
  await expect(listener.record()).rejects.toThrow("away");
  await pass(database, seconds);
  link.isUp = true;
  return { database, listener };
}

it("a record that waited for a connection is late, and no absence", async () => {
  const database = await startBench();
  const reader = openDatabase(database.options.connectionString ?? "", log);
  onTestFinished(() => reader.end());
  const presence = await startPresence(database, log);
  onTestFinished(presence.stop);
  const isDoubtful = async () => (await readAbsences(reader)).isDoubtful;
  const others = Array.from({ length: 10 }, () => database.query("SELECT pg_sleep(8)"));

  await waitFor(isDoubtful, { withinMs: 20_000, what: "the record to be late" });
  const late = await readAbsences(reader);
  await Promise.all(others);
  await waitFor(async () => !(await isDoubtful()), { withinMs: 20_000, what: "the late record" });

  expect(late.spans).toEqual([]);
  expect((await readAbsences(reader)).spans).toEqual([]);
});

it("a process that was killed is away until the next one starts", async () => {
  const database = await startBench();
  await createListener(database).record();
  await pass(database, 10);

  await createListener(database).record();

  const { spans, isDoubtful } = await readAbsences(database);
  const [span] = spans;
  expect(spans).toEqual([expect.objectContaining({ isOver: true })]);
  expect((span?.toMs ?? 0) - (span?.fromMs ?? 0)).toBeGreaterThanOrEqual(10_000);
  expect(isDoubtful).toBe(false);
});

it("a process that is stopped in good order is away at once", async () => {
  const database = await startBench();
  const presence = await startPresence(database, log);

  await presence.stop();

  expect(await readAbsences(database)).toEqual({
    spans: [expect.objectContaining({ isOver: false })],
    isDoubtful: false,
  });
});

it("a process that could not reach the database took no pings meanwhile", async () => {
  const { database, listener } = await loseRecord(8);

  await listener.record();

  const { spans } = await readAbsences(database);
  expect(spans).toEqual([expect.objectContaining({ isOver: true })]);
});

it("a single lost record, with the next in time, is no absence", async () => {
  const { database, listener } = await loseRecord(3);

  await listener.record();

  expect((await readAbsences(database)).spans).toEqual([]);
});

it("a process that stood still for long was away meanwhile", async () => {
  const database = await startBench();
  const listener = createListener(database);
  await listener.record();
  await pass(database, 45);

  await listener.record();

  const { spans } = await readAbsences(database);
  expect(spans).toEqual([expect.objectContaining({ isOver: true })]);
});

it("keeps the last spans only, however often processes come and go", async () => {
  const database = await startBench();
  await database.query(
    `INSERT INTO monitor_presence (part, since, seen_at, has_left)
     SELECT 'pings:' || n, now() - n * interval '1 min', now() - n * interval '1 min', true
     FROM generate_series(1, 500) AS n`,
  );

  await createListener(database).record();

  const { rows } = await database.query("SELECT count(*)::int AS spans FROM monitor_presence");
  expect(rows[0].spans).toBe(200);
});
