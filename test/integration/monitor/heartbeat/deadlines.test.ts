/** The deadlines of heartbeats that are ok, in a real Postgres. */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createDeadlines } from "#monitor/heartbeat/deadlines.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { always } from "../../../support/monitor/standard-definitions.ts";
import { createTestDatabase } from "../../../support/run/shared-postgres.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const nightly = aHeartbeat({ id: "nightly", periodSeconds: 60, graceSeconds: 30 });
const allowanceMs = 90_000;
const day = 86_400_000;
const token = createHash("sha256").update("nightly").digest("hex");

const heartbeat = (id: string) => ({ ...nightly, id });

/** `nightly` pinged `agoMs` ago, was ok then, and is not watched. */
async function startBench(agoMs: number) {
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const readDefinitions = always({ heartbeats: [heartbeat("nightly"), heartbeat("early")] });
  const inbox = createInbox({ database, readDefinitions, recordPings: async () => {} });
  await inbox.register(heartbeat("nightly"), { token, by: "ada" });
  const pingedMs = Date.now() - agoMs;
  await inbox.receive({ token, atMs: pingedMs });
  await inbox.release({
    id: "nightly",
    lastPingAtMs: pingedMs,
    receivedAtMs: null,
    dueAtMs: pingedMs + allowanceMs,
  });
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
  expect(nextMs).toBeLessThanOrEqual(20_120);
});

it("finds a deadline that has passed, and the heartbeat is watched from then on", async () => {
  const { deadlines, inbox, pingedMs, database } = await startBench(allowanceMs + 200);

  const passed = await deadlines.findPassed();
  const ping = await inbox.receive({ token, atMs: Date.now() });

  expect(passed?.overdue).toEqual([{ id: "nightly", lastPingAtMs: pingedMs, away: null }]);
  expect(ping).toMatchObject({ id: "nightly", isWatched: true });
  if (passed !== null) await deadlines.postpone(passed);
  expect((await readRow(database)).isWatched).toBe(true);
  expect(await deadlines.next()).toBeGreaterThan(500_000);
});

it("finds no deadline as passed while pings may still wait to be written", async () => {
  const { deadlines } = await startBench(allowanceMs + 20);

  const passed = await deadlines.findPassed();
  const nextMs = (await deadlines.next()) ?? 0;

  expect(passed).toBeNull();
  expect(nextMs).toBeLessThanOrEqual(100);
});

it("only moves a deadline before which a ping came", async () => {
  const { deadlines, inbox, database } = await startBench(allowanceMs + 200);
  const atMs = Date.now();
  await inbox.receive({ token, atMs });

  expect(await deadlines.findPassed()).toBeNull();
  expect(await readRow(database)).toEqual({ isWatched: false, dueAtMs: atMs + allowanceMs });
});

it("a ping of a process whose clock is ahead counts from now, by the clock of Postgres", async () => {
  const { inbox } = await startBench(1_000);
  const known = { id: "nightly", lastPingAtMs: null, receivedAtMs: null };
  const fromMs = Date.now();

  const received = await inbox.receive({ token, atMs: Date.now() + day });
  const announced = await inbox.announce({ token, atMs: Date.now() + day });

  const { lastPingAtMs, tellingAtMs } = await inbox.poll(known);
  expect(received?.atMs).toBeGreaterThanOrEqual(fromMs);
  expect(announced?.atMs).toBeLessThanOrEqual(Date.now());
  expect([lastPingAtMs, tellingAtMs]).toEqual([received?.atMs, announced?.atMs]);
});

it("a ping that Postgres wrote while its clock was ahead counts from now", async () => {
  const { deadlines, database } = await startBench(1_000);
  await database.query(
    "UPDATE heartbeats SET last_ping_at = now() + interval '1 day', due_at = due_at + interval '1 day'",
  );
  const fromMs = Date.now();

  await deadlines.correct();

  const { dueAtMs, isWatched } = await readRow(database);
  expect(isWatched).toBe(false);
  expect(dueAtMs).toBeGreaterThanOrEqual(fromMs + allowanceMs);
  expect(dueAtMs).toBeLessThanOrEqual(Date.now() + allowanceMs);
});

it("a watched heartbeat is found at once when the clock of Postgres was ahead, without a ping that lies ahead", async () => {
  const { deadlines, inbox, database, pingedMs } = await startBench(1_000);
  const known = { id: "nightly", lastPingAtMs: pingedMs, receivedAtMs: null };
  await inbox.poll(known);
  const ahead = "now() + interval '1 day'";
  await database.query(`UPDATE heartbeats SET last_ping_at = ${ahead}, told_at = ${ahead}`);

  await deadlines.correct();
  await waitFor(async () => (await deadlines.findPassed())?.overdue[0]?.lastPingAtMs === null, {
    withinMs: 5_000,
    what: "the heartbeat to be found",
  });

  expect(await inbox.announce({ token, atMs: pingedMs })).toEqual({
    id: "nightly",
    atMs: pingedMs,
    lastPingAtMs: null,
  });
  expect(await inbox.poll(known)).toMatchObject({ tellingAtMs: pingedMs });
  expect((await readRow(database)).isWatched).toBe(true);
});

it("leaves alone what no clock has set wrong", async () => {
  const { deadlines, inbox, database } = await startBench(1_000);
  const never = createHash("sha256").update("never").digest("hex");
  await inbox.register(heartbeat("never"), { token: never, by: "ada" });
  const read = async () => (await database.query("SELECT * FROM heartbeats ORDER BY id")).rows;
  const before = await read();

  await deadlines.correct();

  expect(await read()).toEqual(before);
});

it("finds it again when the process that found it was killed before it postponed it", async () => {
  const { deadlines, inbox, database, pingedMs } = await startBench(allowanceMs + 200);
  await deadlines.findPassed();
  const atOnce = await deadlines.findPassed();
  await database.query("UPDATE heartbeats SET due_at = due_at - interval '5 s'");

  const later = await deadlines.findPassed();
  await database.query("UPDATE heartbeats SET due_at = due_at - interval '5 s'");
  const atMs = Date.now();
  await inbox.receive({ token, atMs });
  const afterPing = await deadlines.findPassed();

  expect(atOnce).toBeNull();
  expect(later?.overdue).toEqual([{ id: "nightly", lastPingAtMs: pingedMs, away: null }]);
  // The object may have been called for the first find: it decides what the ping means.
  expect(afterPing?.overdue).toEqual([{ id: "nightly", lastPingAtMs: atMs, away: null }]);
});

it("postponing an earlier find does not postpone a later one", async () => {
  const { deadlines, database } = await startBench(allowanceMs + 200);
  const first = await deadlines.findPassed();
  await database.query("UPDATE heartbeats SET due_at = due_at - interval '5 s'");
  await deadlines.findPassed();

  if (first !== null) await deadlines.postpone(first);

  expect(await deadlines.next()).toBeLessThan(6_000);
});

it("a ping that the object does not know of keeps the watch", async () => {
  const { inbox, database, pingedMs } = await startBench(1_000);
  await inbox.poll({ id: "nightly", lastPingAtMs: pingedMs, receivedAtMs: null });
  const atMs = Date.now();
  await inbox.receive({ token, atMs });

  const known = await inbox.release({
    id: "nightly",
    lastPingAtMs: pingedMs,
    receivedAtMs: null,
    dueAtMs: pingedMs + allowanceMs,
  });

  expect(known).toEqual({ lastPingAtMs: atMs, tellingAtMs: null });
  expect((await readRow(database)).isWatched).toBe(true);
});

it("an announced failure keeps the watch and the deadline, however late the object receives it", async () => {
  const { inbox, database, pingedMs } = await startBench(allowanceMs - 1_000);
  const failedMs = pingedMs + 1_000;
  await inbox.announce({ token, atMs: failedMs });
  const atMs = pingedMs + 2_000;
  await inbox.receive({ token, atMs });
  const known = { id: "nightly", lastPingAtMs: pingedMs, receivedAtMs: null };

  const released = await inbox.release({ ...known, dueAtMs: pingedMs + allowanceMs });
  const seen = await inbox.poll({ ...known, lastPingAtMs: atMs });

  expect(released).toEqual({ lastPingAtMs: atMs, tellingAtMs: failedMs });
  expect(seen.tellingAtMs).toBe(failedMs);
  expect(await readRow(database)).toEqual({ isWatched: true, dueAtMs: atMs + allowanceMs });
});

it("a definition that changes moves the deadline", async () => {
  const { deadlines, database, pingedMs } = await startBench(1_000);

  await deadlines.adopt([{ ...nightly, graceSeconds: 0.5 }]);

  expect(await readRow(database)).toEqual({ isWatched: false, dueAtMs: pingedMs + 60_500 });
});

it("of two polls at once only one finds each deadline", async () => {
  const { deadlines } = await startBench(allowanceMs + 200);

  const found = await Promise.all([deadlines.findPassed(), deadlines.findPassed()]);

  expect(found.filter((passed) => passed !== null).length).toBe(1);
});

it("finds a watched heartbeat again after a while, also one that never pinged", async () => {
  const { deadlines, inbox, database, pingedMs } = await startBench(1_000);
  const never = createHash("sha256").update("never").digest("hex");
  await inbox.register(heartbeat("never"), { token: never, by: "ada" });
  await inbox.poll({ id: "nightly", lastPingAtMs: pingedMs, receivedAtMs: null });
  const before = await deadlines.findPassed();
  await database.query("UPDATE heartbeats SET due_at = due_at - interval '11 min'");

  const asked = await deadlines.findPassed();

  expect(before).toBeNull();
  expect(asked?.overdue.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual([
    { id: "never", lastPingAtMs: null, away: null },
    { id: "nightly", lastPingAtMs: pingedMs, away: null },
  ]);
});

it("learns the last ping from the object when Postgres was set back to an earlier state", async () => {
  const { inbox, database, pingedMs } = await startBench(1_000);
  await database.query(
    "UPDATE heartbeats SET is_watched = true, last_ping_at = last_ping_at - interval '1 day'",
  );

  const known = await inbox.release({
    id: "nightly",
    lastPingAtMs: pingedMs,
    receivedAtMs: null,
    dueAtMs: pingedMs + allowanceMs,
  });

  expect(known).toEqual({ lastPingAtMs: pingedMs, tellingAtMs: null });
  expect(await readRow(database)).toEqual({
    isWatched: false,
    dueAtMs: pingedMs + allowanceMs,
  });
});

it.each(["postpone", "adopt"] as const)(
  "%s never makes a ping wait while it waits for a ping itself",
  async (what) => {
    const { deadlines, inbox, database } = await startBench(allowanceMs + 200);
    // Before the other by its id, and behind it in the table.
    const early = createHash("sha256").update("early").digest("hex");
    await inbox.register(heartbeat("early"), { token: early, by: "ada" });
    await inbox.receive({ token: early, atMs: Date.now() - allowanceMs - 200 });
    await database.query("UPDATE heartbeats SET due_at = clock_timestamp() - interval '1 s'");
    const passed = await deadlines.findPassed();
    const pings = await database.connect();
    onTestFinished(() => pings.release());
    await pings.query("BEGIN");
    await pings.query("SELECT 1 FROM heartbeats WHERE id = 'early' FOR UPDATE");

    const waiting =
      what === "postpone"
        ? passed && deadlines.postpone(passed)
        : deadlines.adopt(["early", "nightly"].map((id) => ({ ...nightly, id, graceSeconds: 31 })));
    await waitFor(async () => (await database.query(isOneWaiting)).rows.length > 0, {
      withinMs: 5_000,
      what: "it to wait for the ping",
    });
    await pings.query("SELECT 1 FROM heartbeats WHERE id = 'nightly' FOR UPDATE NOWAIT");
    await pings.query("COMMIT");
    await waiting;
  },
);

const isOneWaiting =
  "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

it("reads what is near, and not all that there are", async () => {
  const { database } = await startBench(1_000);
  await database.query(
    `INSERT INTO heartbeats (id, token_hash, allowance, last_ping_at, is_watched, due_at)
     SELECT 'h' || n, sha256(n::text::bytea), interval '1 h', now(), false, now() + interval '1 h'
     FROM generate_series(1, 20000) AS n`,
  );
  await database.query("ANALYZE heartbeats");
  const plans: string[] = [];
  const explained = {
    query: async (statement: string) => {
      const { rows } = await database.query(`EXPLAIN ${statement}`);
      plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
      return { rows: [] };
    },
  };
  const deadlines = createDeadlines(explained as unknown as Database);

  await deadlines.findPassed();
  await deadlines.next();

  expect(plans.length).toBe(2);
  for (const plan of plans) expect(plan).not.toContain("Seq Scan on heartbeats");
  expect(plans[0]).toMatch(/Index Scan using heartbeats_due .*\n *Index Cond: \(due_at <= /);
});
