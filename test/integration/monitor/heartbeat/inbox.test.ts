/** Pings that are written together, in a real Postgres. */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { type Database, inTransaction, openDatabase, type Queries } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import type { Ping } from "#monitor/contract.ts";
import {
  createInbox,
  deleteUrls,
  saveWatched,
  TooManyPings,
  takePings,
  waitingIds,
} from "#monitor/heartbeat/inbox.ts";
import { managePartitions } from "#monitor/results/partitions.ts";
import { savePings } from "#monitor/results/record.ts";
import { createTestDatabase } from "../../../support/run/shared-postgres.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const ids = Array.from({ length: 20 }, (_, i) => `job-${i}`);
const tokenOf = (id: string) => createHash("sha256").update(id).digest("hex");
const day = 86_400_000;

const success = (atMs: number): Ping => ({ kind: "success", atMs });
const start = (atMs: number): Ping => ({ kind: "start", atMs });
const failure = (atMs: number): Ping => ({ kind: "fail", atMs, exitCode: 3 });

/** A process that takes pings; `database`: whose rows it writes. */
function openInbox(database: Database, decide: (id: string) => Promise<void> = async () => {}) {
  return createInbox({ database, recordPings: (pings) => savePings(database, pings), decide });
}

/** All heartbeats are ok and not watched. */
async function startInbox(decide?: (id: string) => Promise<void>) {
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const open = () => {
    const database = openDatabase(server.url, log);
    onTestFinished(() => database.end());
    return database;
  };
  const database = open();
  await managePartitions(database, { nowMs: Date.now(), keepDays: 30 });
  const inbox = openInbox(database, decide);
  for (const id of ids) await inbox.register({ id }, { token: tokenOf(id), by: "ada" });
  await database.query("UPDATE heartbeats SET is_watched = false");
  const send = (id: string, ping: Ping) => inbox.receive({ token: tokenOf(id), ping });
  return { database, inbox, open, send };
}

async function readLastPings(database: Database): Promise<Map<string, number>> {
  const { rows } = await database.query("SELECT id, last_ping_at FROM heartbeats");
  return new Map(rows.map((row) => [row.id, row.last_ping_at?.getTime() ?? null]));
}

async function readRow(database: Database, id: string) {
  const { rows } = await database.query("SELECT * FROM heartbeats WHERE id = $1", [id]);
  return { isWatched: rows[0].is_watched, lastPingAtMs: rows[0].last_ping_at?.getTime() ?? null };
}

async function readResults(database: Database): Promise<number[]> {
  const { rows } = await database.query("SELECT scheduled_at FROM check_results ORDER BY 1");
  return rows.map(({ scheduled_at }) => scheduled_at.getTime());
}

const take = (database: Database, id: string) =>
  inTransaction(database, async (tx) => (await takePings(tx, [id])).get(id));

const watch = (database: Queries, id: string, isWatched: boolean) =>
  saveWatched(database, [{ id, isWatched, lastPingAtMs: null }]);

it("a row that cannot be written fails alone: the others of its group are taken", async () => {
  const { database, send } = await startInbox();
  await database.query(`ALTER TABLE heartbeats ADD CONSTRAINT none_of_one
    CHECK (id <> 'job-7' OR last_ping_at IS NULL)`);
  const atMs = Date.now() - 1_000;
  // The first one is sent by itself.
  await send("job-0", success(atMs - 1_000));

  const ends = await Promise.allSettled(ids.map((id) => send(id, success(atMs))));

  const failed = ids.filter((_, i) => ends[i]?.status === "rejected");
  expect(failed).toEqual(["job-7"]);
  expect(await readLastPings(database)).toEqual(
    new Map(ids.map((id) => [id, id === "job-7" ? null : atMs])),
  );
  expect((await readResults(database)).length).toBe(ids.length);
});

it("the later of two pings counts, in whichever order they come, and each has its result", async () => {
  const { database, send } = await startInbox();
  const atMs = Date.now() - 5_000;

  await Promise.all([atMs + 2, atMs, atMs + 1].map((at) => send("job-1", success(at))));
  await send("job-1", success(atMs - 1_000));

  expect((await readLastPings(database)).get("job-1")).toBe(atMs + 2);
  expect(await readResults(database)).toEqual([atMs - 1_000, atMs, atMs + 1, atMs + 2]);
});

it("processes that take pings of the same heartbeats lose none", async () => {
  const { database, inbox, open } = await startInbox();
  const inboxes = [inbox, openInbox(open()), openInbox(open())];
  const fromMs = Date.now() - 60_000;
  const turns = 12;
  /** Each ping when the last one of its job was answered, so that the groups of all processes alternate. */
  const pingInTurn = async (part: number, id: string) => {
    for (let turn = 0; turn < turns; turn += 1) {
      const ping = success(fromMs + turn * 3 + part);
      expect(await inboxes[part]?.receive({ token: tokenOf(id), ping })).toEqual({ id });
    }
  };

  await Promise.all(
    inboxes.flatMap((_, part) =>
      // Each process in an order of its own.
      ids
        .toSorted((a, b) => tokenOf(`${part}${a}`).localeCompare(tokenOf(`${part}${b}`)))
        .map((id) => pingInTurn(part, id)),
    ),
  );

  const lastMs = fromMs + (turns - 1) * 3 + 2;
  expect((await readResults(database)).length).toBe(3 * turns * ids.length);
  expect(new Set((await readLastPings(database)).values())).toEqual(new Set([lastMs]));
});

it("a ping of a process whose clock is ahead counts from now, by the clock of Postgres", async () => {
  const { database, send } = await startInbox();
  const fromMs = Date.now();

  await send("job-1", success(fromMs + day));
  await send("job-2", start(fromMs + day));

  const { lastPingAtMs } = await readRow(database, "job-1");
  const atMs = (await take(database, "job-2"))?.pings[0]?.atMs;
  for (const ms of [lastPingAtMs, atMs]) {
    expect(ms).toBeGreaterThanOrEqual(fromMs);
    expect(ms).toBeLessThanOrEqual(Date.now());
  }
});

it("a time that Postgres wrote while its clock was ahead is replaced by the next ping, or a decision", async () => {
  const { database, send } = await startInbox();
  await database.query("UPDATE heartbeats SET last_ping_at = now() + interval '1 day'");
  const atMs = Date.now();

  await send("job-1", success(atMs));
  await saveWatched(database, [{ id: "job-2", isWatched: false, lastPingAtMs: atMs }]);

  const { isWatched } = await readRow(database, "job-2");
  expect(isWatched).toBe(false);
  const lastPings = await readLastPings(database);
  expect(["job-1", "job-2"].map((id) => lastPings.get(id))).toEqual([atMs, atMs]);
});

it("what follows a start waits in its order, also in the same group, and what came before it does not", async () => {
  const decided: string[] = [];
  const { database, send } = await startInbox(async (id) => void decided.push(id));
  const atMs = Date.now() - 10_000;

  await Promise.all([
    send("job-1", success(atMs)),
    send("job-1", start(atMs + 1)),
    send("job-2", success(atMs + 1)),
    send("job-1", success(atMs + 2)),
  ]);
  await send("job-1", failure(atMs + 3));

  expect(await take(database, "job-1")).toEqual({
    lastPingAtMs: atMs,
    hasUrl: true,
    pings: [start(atMs + 1), success(atMs + 2), failure(atMs + 3)],
  });
  expect(await readRow(database, "job-1")).toMatchObject({ isWatched: true });
  expect(await readRow(database, "job-2")).toEqual({ isWatched: false, lastPingAtMs: atMs + 1 });
  expect(await readResults(database)).toEqual([atMs, atMs + 1]);
  expect(new Set(decided)).toEqual(new Set(["job-1"]));
});

it("a ping waits for the decision that is under way, and is treated as that leaves the heartbeat", async () => {
  const { database, send } = await startInbox();
  const atMs = Date.now() - 1_000;
  await send("job-1", start(atMs));

  const sent = await inTransaction(database, async (tx) => {
    const { pings = [] } = (await takePings(tx, ["job-1"])).get("job-1") ?? {};
    const sending = send("job-1", success(atMs + 1));
    await waitFor(async () => (await database.query(isOneWaiting)).rows.length > 0, {
      withinMs: 5_000,
      what: "the ping to wait",
    });
    await watch(tx, "job-1", false);
    return { pings, sending };
  });
  await sent.sending;

  expect(sent.pings).toEqual([start(atMs)]);
  expect(await readRow(database, "job-1")).toEqual({ isWatched: false, lastPingAtMs: atMs + 1 });
});

const isOneWaiting =
  "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

it("a decision that is rolled back leaves the pings", async () => {
  const { database, send } = await startInbox();
  const atMs = Date.now();
  await send("job-1", failure(atMs));

  const end = inTransaction(database, async (tx) => {
    await takePings(tx, ["job-1"]);
    throw new Error("killed");
  });

  await expect(end).rejects.toThrow("killed");
  expect(await waitingIds(database)).toEqual(["job-1"]);
  expect((await take(database, "job-1"))?.pings).toEqual([failure(atMs)]);
});

it.each([
  ["fails", () => Promise.reject(new Error("no database"))],
  ["is late", () => new Promise<void>(() => {})],
])("a ping is taken although its decision %s", async (_, decide) => {
  const { database, inbox, send } = await startInbox(decide);
  const atMs = Date.now();

  const taken = await send("job-1", failure(atMs));
  await inbox.pingOurs("drill", { ...failure(atMs), reason: "not confirmed" } as Ping);

  expect(taken).toEqual({ id: "job-1" });
  expect(await waitingIds(database)).toEqual(["drill", "job-1"]);
  expect(await take(database, "drill")).toEqual({
    lastPingAtMs: null,
    hasUrl: false,
    pings: [{ kind: "fail", atMs, exitCode: 3, reason: "not confirmed" }],
  });
});

it("of a flood that nothing decides a thousand pings wait, and the last success", async () => {
  const { database, inbox, send } = await startInbox();
  const fromMs = Date.now() - 60_000;
  await watch(database, "job-1", true);
  // By its URL only twenty a second are taken.
  await Promise.all(
    Array.from({ length: 999 }, (_, n) => inbox.pingOurs("job-1", start(fromMs + n))),
  );
  const flood = (count: number, ping: (n: number) => Ping) =>
    Promise.allSettled(Array.from({ length: count }, (_, n) => send("job-1", ping(n))));

  await flood(15, (n) => success(fromMs + 1_000 + n));
  const [refused] = await flood(1, () => failure(fromMs + 2_000));
  const [last] = await flood(1, () => success(fromMs + 3_000));

  const waiting = (await take(database, "job-1"))?.pings ?? [];
  expect(refused).toMatchObject({ reason: expect.any(TooManyPings) });
  expect(last).toMatchObject({ value: { id: "job-1" } });
  expect(waiting.length).toBe(1_001);
  expect(waiting.slice(-2)).toEqual([success(fromMs + 1_000), success(fromMs + 3_000)]);
});

it("nobody's token is found, and none of a heartbeat that became a drill", async () => {
  const { database, send } = await startInbox();

  await deleteUrls(database, ["job-1"]);

  expect(await send("job-1", success(Date.now()))).toBeNull();
  expect(await send("nobody", start(Date.now()))).toBeNull();
  expect(await send("job-2", success(Date.now()))).toEqual({ id: "job-2" });
});

it("a new token replaces the one before, and keeps what came by it", async () => {
  const { database, inbox, send } = await startInbox();
  const atMs = Date.now();
  await send("job-1", success(atMs));

  const again = await inbox.register({ id: "job-1" }, { token: tokenOf("new"), by: "bob" });
  const first = await inbox.register({ id: "never" }, { token: tokenOf("never"), by: "bob" });

  expect([again, first]).toEqual([{ replaced: true }, { replaced: false }]);
  expect(await send("job-1", success(atMs))).toBeNull();
  expect(await readRow(database, "job-1")).toEqual({ isWatched: false, lastPingAtMs: atMs });
  await expect(
    inbox.register({ id: "job-2" }, { token: tokenOf("new"), by: "bob" }),
  ).rejects.toMatchObject({ code: "token_taken" });
});
