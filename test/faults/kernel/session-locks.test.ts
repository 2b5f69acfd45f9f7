/** Locks that a process holds for its lifetime, with a real Postgres. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createLog } from "#kernel/log.ts";
import {
  holdSessionLocks,
  LockTakenError,
  type SessionLock,
  type SessionLockSettings,
} from "#kernel/session-locks.ts";
import { startPgbouncer } from "../../support/servers/pgbouncer.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { startTestDatabase, type TestDatabase } from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const lockClass = 0x76656465;

let server: TestDatabase;

beforeAll(async () => {
  server = await startTestDatabase();
});

afterAll(() => server?.stop());

let lastNumber = 100;

/** A lock that no other test uses. */
function newLock(): SessionLock {
  lastNumber += 1;
  return { number: lastNumber, refusal: (holder) => `held by ${holder}` };
}

async function hold(lock: SessionLock, over: Partial<SessionLockSettings> = {}) {
  const taken: Error[] = [];
  const held = await holdSessionLocks({
    url: server.url,
    mayBePooled: false,
    locks: [lock],
    log,
    onTaken: (error) => taken.push(error),
    waitMs: 500,
    ...over,
  });
  onTestFinished(held.release);
  return { ...held, taken };
}

async function connectAs(application_name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url, application_name });
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return client;
}

/** The connections that hold the lock. */
async function holders(lock: SessionLock): Promise<number[]> {
  const client = new pg.Client({ connectionString: server.url });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query(
      "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = $1 AND objid = $2",
      [lockClass, lock.number],
    );
    return rows.map(({ pid }) => pid);
  } finally {
    await client.end().catch(() => {});
  }
}

/** A proxy before Postgres; `onConnection` connects its two ends. Returns the address of the proxy. */
async function startProxy(onConnection: (socket: Socket, behind: Socket) => void): Promise<string> {
  const url = new URL(server.url);
  const { port, hostname } = url;
  const proxy = createServer((socket) => {
    const behind = connect(Number(port), hostname);
    for (const one of [socket, behind]) one.on("error", () => {});
    onTestFinished(() => void behind.destroy());
    behind.pipe(socket);
    onConnection(socket, behind);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  url.port = String((proxy.address() as AddressInfo).port);
  return url.href;
}

async function cutHolder(lock: SessionLock): Promise<number> {
  const [pid] = await holders(lock);
  const client = await connectAs("cutter");
  await client.query("SELECT pg_terminate_backend($1)", [pid]);
  return Number(pid);
}

const untilHeldAnew = (lock: SessionLock, before: number) =>
  waitFor(async () => (await holders(lock)).some((pid) => pid !== before), {
    withinMs: 60_000,
    what: "the lock to be held again",
  });

it("is refused while another process holds it, and the error names that process", async () => {
  const lock = newLock();
  const other = await connectAs("vedette web-7 pid 42");
  await other.query("SELECT pg_advisory_lock($1, $2)", [lockClass, lock.number]);

  const second = hold(lock);

  await expect(second).rejects.toThrow(/^held by vedette web-7 pid 42, since 20\d\d-.*Z$/);
  await expect(second).rejects.toBeInstanceOf(LockTakenError);
});

it("is taken by one of three processes that request it at the same moment", async () => {
  const lock = newLock();

  const ends = await Promise.allSettled([hold(lock), hold(lock), hold(lock)]);

  expect(ends.map(({ status }) => status).toSorted()).toEqual([
    "fulfilled",
    "rejected",
    "rejected",
  ]);
  expect(await holders(lock)).toHaveLength(1);
});

it("waits for a holder that is about to end", async () => {
  const lock = newLock();
  const other = await connectAs("leaving");
  await other.query("SELECT pg_advisory_lock($1, $2)", [lockClass, lock.number]);

  const second = hold(lock, { waitMs: 60_000 });
  await waitFor(async () => (await holders(lock)).length === 1, { withinMs: 5_000, what: "it" });
  await other.end();

  await expect(second).resolves.toBeDefined();
});

it("is free once it is released", async () => {
  const lock = newLock();
  const first = await hold(lock);

  await first.release();

  expect(await holders(lock)).toEqual([]);
});

it("is taken again when its connection was cut", async () => {
  const lock = newLock();
  const held = await hold(lock);

  const before = await cutHolder(lock);

  await untilHeldAnew(lock, before);
  expect(held.taken).toEqual([]);
});

it("reports when another process has taken it while the connection was cut", async () => {
  const lock = newLock();
  const held = await hold(lock);
  const other = await connectAs("vedette web-8 pid 7");
  const waits = other.query("SELECT pg_advisory_lock($1, $2)", [lockClass, lock.number]);
  const watch = await connectAs("watch");
  const isWaiting = async () => {
    const { rows } = await watch.query(
      "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1",
      [lock.number],
    );
    return rows.length === 1;
  };
  await waitFor(isWaiting, { withinMs: 5_000, what: "the other to wait" });

  await cutHolder(lock);
  await waits;

  await waitFor(() => held.taken.length === 1, { withinMs: 30_000, what: "the word of it" });
  expect(held.taken[0]?.message).toContain("held by vedette web-8 pid 7");
});

it("is taken again after a restart of Postgres", async () => {
  const lock = newLock();
  const held = await hold(lock);
  const [before = 0] = await holders(lock);

  await server.kill9();
  await server.restart();

  await untilHeldAnew(lock, before);
  expect(held.taken).toEqual([]);
});

it("is taken again when a proxy keeps a dead connection open", async () => {
  const lock = newLock();
  let connections = 0;
  let silence = () => {};
  const url = await startProxy((socket, behind) => {
    socket.pipe(behind);
    connections += 1;
    if (connections > 1) return;
    // The proxy forwards nothing any more and leaves its connection to Postgres open.
    silence = () => {
      socket.unpipe(behind);
      behind.unpipe(socket);
    };
  });
  const held = await hold(lock, { url });
  const [before = 0] = await holders(lock);

  silence();

  await untilHeldAnew(lock, before);
  expect(held.taken).toEqual([]);
});

it("is no longer waited for once it is released", async () => {
  const lock = newLock();
  const held = await hold(lock, { waitMs: 120_000 });
  const [before] = await holders(lock);
  const other = await connectAs("other");
  const waits = other.query("SELECT pg_advisory_lock($1, $2)", [lockClass, lock.number]);
  await cutHolder(lock);
  await waits;
  const triesAgain = async () => (await holders(lock)).every((pid) => pid !== before);
  await waitFor(triesAgain, { withinMs: 10_000, what: "the other to have it" });

  await held.release();

  const watch = await connectAs("watch");
  const isGone = async () => {
    const ours = `vedette % pid ${process.pid} %`;
    const { rowCount } = await watch.query(
      "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE $1",
      [ours],
    );
    return rowCount === 0;
  };
  await waitFor(isGone, { withinMs: 30_000, what: "the last connection to be gone" });
  expect(held.taken).toEqual([]);
});

it("leaves no connection when it is released while it connects again", async () => {
  const lock = newLock();
  const connections: { socket: Socket; answer: () => void }[] = [];
  const url = await startProxy((socket, behind) => {
    connections.push({ socket, answer: () => void socket.pipe(behind) });
    if (connections.length === 1) socket.pipe(behind);
  });
  const held = await hold(lock, { url });
  await cutHolder(lock);
  await waitFor(() => connections.length === 2, {
    withinMs: 10_000,
    what: "the second connection",
  });

  const released = held.release();
  const [, second] = connections;
  second?.answer();
  await released;

  const isClosed = () => second?.socket.closed === true;
  await waitFor(isClosed, { withinMs: 5_000, what: "the second connection to be closed" });
});

it("is released at once when Postgres is down", async () => {
  const held = await hold(newLock());
  await server.kill9();

  await held.release();

  await server.restart();
});

describe.skipIf(!hasPrograms("pgbouncer"))("behind PgBouncer, which lends servers", () => {
  it("is refused without a direct address of Postgres", async () => {
    const pooler = await startPgbouncer(server.url);
    onTestFinished(pooler.stop);

    const held = hold(newLock(), { url: pooler.url });

    await expect(held).rejects.toThrow("set database.direct_url");
  });

  it("locks nothing where the operator gives a pooler as the direct address", async () => {
    const pooler = await startPgbouncer(server.url);
    onTestFinished(pooler.stop);
    const lock = newLock();

    await hold(lock, { url: pooler.url, mayBePooled: true });

    expect(await holders(lock)).toEqual([]);
  });
});
