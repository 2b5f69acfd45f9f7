/** The deadlines of heartbeats that are ok, in a real Postgres. */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createDeadlines } from "#monitor/deadlines.ts";
import { createInbox } from "#monitor/inbox.ts";
import { aHeartbeat } from "../../support/check-builders.ts";
import { startTestDatabase } from "../../support/servers.ts";

const log = createLog({ level: "silent", format: "json" });
const nightly = aHeartbeat({ id: "nightly", periodSeconds: 60, graceSeconds: 30 });
const allowanceMs = 90_000;
const token = createHash("sha256").update("nightly").digest("hex");

/** `nightly` has pinged `agoMs` ago, was ok then, and its object waits for nothing. */
async function startBench(agoMs: number) {
  const server = await startTestDatabase();
  onTestFinished(server.stop);
  await migrate(server.url, log);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const inbox = createInbox({ database, heartbeats: [nightly], recordPings: async () => {} });
  await inbox.register("nightly", token);
  const pingedMs = Date.now() - agoMs;
  await inbox.receive({ token, atMs: pingedMs });
  await inbox.release({ id: "nightly", lastPingAtMs: pingedMs });
  return { database, inbox, deadlines: createDeadlines(database), pingedMs };
}

async function readRow(database: Database) {
  const { rows } = await database.query("SELECT is_watched, due_at FROM heartbeats");
  return { isWatched: rows[0].is_watched, dueAtMs: rows[0].due_at?.getTime() ?? null };
}

it("finds nothing before the deadline, and knows when it is", async () => {
  const { deadlines } = await startBench(allowanceMs - 20_000);

  expect(await deadlines.findPassed()).toBeNull();
  const nextMs = (await deadlines.next()) ?? 0;
  expect(nextMs).toBeGreaterThan(15_000);
  expect(nextMs).toBeLessThanOrEqual(20_000);
});

it("finds a deadline that has passed, and has the object told of pings from then on", async () => {
  const { deadlines, inbox, pingedMs, database } = await startBench(allowanceMs + 10);

  const passed = await deadlines.findPassed();
  const ping = await inbox.receive({ token, atMs: Date.now() });

  expect(passed?.overdue).toEqual([{ id: "nightly", lastPingAtMs: pingedMs }]);
  expect(passed?.away).toBeNull();
  expect(ping).toEqual({ id: "nightly", isWatched: true });
  if (passed !== null) await deadlines.told(passed);
  expect(await readRow(database)).toEqual({ isWatched: true, dueAtMs: null });
  expect(await deadlines.next()).toBeNull();
});

it("only moves a deadline before which a ping came", async () => {
  const { deadlines, inbox, database } = await startBench(allowanceMs + 10);
  const atMs = Date.now();
  await inbox.receive({ token, atMs });

  expect(await deadlines.findPassed()).toBeNull();
  expect(await readRow(database)).toEqual({ isWatched: false, dueAtMs: atMs + allowanceMs });
});

it("finds it again when whoever found it was killed before the object was told", async () => {
  const { deadlines, inbox, database, pingedMs } = await startBench(allowanceMs + 10);
  await deadlines.findPassed();
  const atOnce = await deadlines.findPassed();
  await database.query("UPDATE heartbeats SET due_at = due_at - interval '5 s'");

  const later = await deadlines.findPassed();
  await database.query("UPDATE heartbeats SET due_at = due_at - interval '5 s'");
  const atMs = Date.now();
  await inbox.receive({ token, atMs });
  const afterPing = await deadlines.findPassed();

  expect(atOnce).toBeNull();
  expect(later?.overdue).toEqual([{ id: "nightly", lastPingAtMs: pingedMs }]);
  // The object may have heard of the first find: it decides what the ping means.
  expect(afterPing?.overdue).toEqual([{ id: "nightly", lastPingAtMs: atMs }]);
});

it("is not left to its object by one who was told of an earlier find", async () => {
  const { deadlines, database } = await startBench(allowanceMs + 10);
  const first = await deadlines.findPassed();
  await database.query("UPDATE heartbeats SET due_at = due_at - interval '5 s'");
  await deadlines.findPassed();

  if (first !== null) await deadlines.told(first);

  expect((await readRow(database)).dueAtMs).not.toBeNull();
});

it("a ping that the object does not know of keeps the watch", async () => {
  const { inbox, database, pingedMs } = await startBench(1_000);
  await inbox.look({ id: "nightly", lastPingAtMs: pingedMs });
  const atMs = Date.now();
  await inbox.receive({ token, atMs });

  const known = await inbox.release({ id: "nightly", lastPingAtMs: pingedMs });

  expect(known).toBe(atMs);
  expect(await readRow(database)).toEqual({ isWatched: true, dueAtMs: null });
});

it("a definition that changes moves the deadline", async () => {
  const { deadlines, database, pingedMs } = await startBench(1_000);

  await deadlines.adopt([{ ...nightly, graceSeconds: 0.5 }]);

  expect(await readRow(database)).toEqual({ isWatched: false, dueAtMs: pingedMs + 60_500 });
});

it("two that look at once tell of each deadline once", async () => {
  const { deadlines } = await startBench(allowanceMs + 10);

  const found = await Promise.all([deadlines.findPassed(), deadlines.findPassed()]);

  expect(found.filter((passed) => passed !== null).length).toBe(1);
});
