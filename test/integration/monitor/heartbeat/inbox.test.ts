/** Pings that are written together, in a real Postgres. */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import type { Definitions, ReadDefinitions } from "#monitor/contract.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { managePartitions } from "#monitor/results/partitions.ts";
import { createResultWriter } from "#monitor/results/record.ts";
import { timesAfterPing } from "#monitor/rules/deadline.ts";
import { aHeartbeat, aSnapshot } from "../../../support/monitor/check-builders.ts";
import { always } from "../../../support/monitor/standard-definitions.ts";
import { createTestDatabase } from "../../../support/run/shared-postgres.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const ids = Array.from({ length: 20 }, (_, i) => `job-${i}`);
const tokenOf = (id: string) => createHash("sha256").update(id).digest("hex");

const readAll = always({ heartbeats: ids.map((id) => aHeartbeat({ id })) });

/** A process that takes pings; `database`: whose rows it writes. */
function openInbox(database: Database, readDefinitions: ReadDefinitions = readAll) {
  const { pings } = createResultWriter(database);
  return createInbox({ database, readDefinitions, recordPings: pings });
}

/** All heartbeats are ok, as far as Postgres knows, also in their snapshots. */
async function startInbox() {
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const open = () => {
    const database = openDatabase(server.url, log);
    onTestFinished(() => database.end());
    return database;
  };
  const database = open();
  const inbox = openInbox(database);
  for (const id of ids) {
    await inbox.register(aHeartbeat({ id }), { token: tokenOf(id), by: "ada" });
  }
  await database.query("UPDATE heartbeats SET is_watched = false");
  const { snapshot } = createResultWriter(database);
  await Promise.all(
    ids.map((id) => snapshot(aSnapshot({ checkId: id, kind: "heartbeat", lastAtMs: null }))),
  );
  return { database, inbox, open };
}

async function readLastPings(database: Database): Promise<Map<string, number>> {
  const { rows } = await database.query("SELECT id, last_ping_at FROM heartbeats");
  return new Map(rows.map((row) => [row.id, row.last_ping_at?.getTime() ?? null]));
}

const untilPinged = (database: Database, id: string, atMs: number) =>
  waitFor(async () => (await readLastPings(database)).get(id) === atMs, {
    withinMs: 5_000,
    what: `the ping of ${id}`,
  });

/** Postgres refuses this heartbeat's row, as one that breaks a constraint. */
async function refuseRow(database: Database, id: string): Promise<void> {
  await database.query(`ALTER TABLE heartbeats ADD CONSTRAINT none_of_one
    CHECK (id <> '${id}' OR last_ping_at IS NULL)`);
}

it("a row that cannot be written fails alone: the others of its group are taken", async () => {
  const { database, inbox } = await startInbox();
  await refuseRow(database, "job-7");
  const atMs = Date.now();
  // The first one is sent by itself.
  await inbox.receive({ token: tokenOf("job-0"), atMs: atMs - 1_000 });

  const ends = await Promise.allSettled(
    ids.map((id) => inbox.receive({ token: tokenOf(id), atMs })),
  );

  const failed = ids.filter((_, i) => ends[i]?.status === "rejected");
  const { rows } = await database.query(
    "SELECT check_id FROM check_results WHERE started_at = $1",
    [new Date(atMs)],
  );
  expect(failed).toEqual(["job-7"]);
  expect(await readLastPings(database)).toEqual(
    new Map(ids.map((id) => [id, id === "job-7" ? null : atMs])),
  );
  expect(rows.map(({ check_id }) => check_id).toSorted()).toEqual(
    ids.filter((id) => id !== "job-7").toSorted(),
  );
});

it("the later of two pings counts, in whichever order they come, and each has its result", async () => {
  const { database, inbox } = await startInbox();
  const atMs = Date.now() - 5_000;
  const token = tokenOf("job-1");

  await Promise.all([atMs + 2, atMs, atMs + 1].map((at) => inbox.receive({ token, atMs: at })));
  await inbox.receive({ token, atMs: atMs - 1_000 });

  const { rows } = await database.query("SELECT scheduled_at FROM check_results ORDER BY 1");
  expect((await readLastPings(database)).get("job-1")).toBe(atMs + 2);
  expect(rows.map(({ scheduled_at }) => scheduled_at.getTime())).toEqual([
    atMs - 1_000,
    atMs,
    atMs + 1,
    atMs + 2,
  ]);
});

/** What the snapshots say of the last ping and of the next deadline. */
async function readShown(database: Database) {
  const { rows } = await database.query("SELECT check_id, snapshot FROM check_snapshots");
  return new Map<string, { lastAtMs: number; dueAtMs: number }>(
    rows.map(({ check_id, snapshot: { lastAtMs, dueAtMs } }) => [check_id, { lastAtMs, dueAtMs }]),
  );
}

it("processes that take pings of the same heartbeats lose none", async () => {
  const { database, inbox, open } = await startInbox();
  await managePartitions(database, { nowMs: Date.now(), keepDays: 30 });
  const inboxes = [inbox, openInbox(open()), openInbox(open())];
  const fromMs = Date.now() - 60_000;
  const turns = 12;
  /** Each ping when the last one of its job was answered, so that the groups of all processes alternate. */
  const pingInTurn = async (part: number, id: string) => {
    const taken = [];
    for (let turn = 0; turn < turns; turn += 1) {
      const ping = { token: tokenOf(id), atMs: fromMs + turn * 3 + part };
      taken.push(await inboxes[part]?.receive(ping));
    }
    return taken;
  };

  const taken = await Promise.all(
    inboxes.flatMap((_, part) =>
      // Each process in an order of its own.
      ids
        .toSorted((a, b) => tokenOf(`${part}${a}`).localeCompare(tokenOf(`${part}${b}`)))
        .map((id) => pingInTurn(part, id)),
    ),
  );

  const { rows } = await database.query("SELECT count(*)::int AS n FROM check_results");
  expect(taken.flat().every((recipient) => recipient?.isWatched === false)).toBe(true);
  expect(rows[0].n).toBe(3 * turns * ids.length);
  const lastMs = fromMs + (turns - 1) * 3 + 2;
  expect(new Set((await readLastPings(database)).values())).toEqual(new Set([lastMs]));
  expect(await readShown(database)).toEqual(
    new Map(
      ids.map((id) => {
        const { dueAtMs } = timesAfterPing(aHeartbeat({ id }), lastMs);
        return [id, { lastAtMs: lastMs, dueAtMs }];
      }),
    ),
  );
});

it("keeps pings while the definitions cannot be read: only their answers wait", async () => {
  const { database, open } = await startInbox();
  const definitions = Promise.withResolvers<Definitions>();
  const slow = openInbox(open(), () => definitions.promise);
  const atMs = Date.now();

  const first = slow.receive({ token: tokenOf("job-1"), atMs });
  await untilPinged(database, "job-1", atMs);
  const second = slow.receive({ token: tokenOf("job-2"), atMs });
  await untilPinged(database, "job-2", atMs);
  const before = await database.query("SELECT check_id FROM check_results");
  definitions.resolve(await readAll());
  const taken = await Promise.all([first, second]);

  const { rows } = await database.query("SELECT check_id FROM check_results ORDER BY 1");
  expect(before.rows).toEqual([]);
  expect(taken).toMatchObject(["job-1", "job-2"].map((id) => ({ id, isWatched: false })));
  expect(rows.map(({ check_id }) => check_id)).toEqual(["job-1", "job-2"]);
});
