/**
 * Advisory locks in Postgres that a process holds for its lifetime on a connection of its own: when it is
 * killed they are free at once. When the connection is lost the locks are taken again; in between only a
 * process that starts at that moment could take them.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { backoffMs, inTime, pause } from "./async.ts";
import { connectDirectly, endClient, isPooled } from "./database-connection.ts";
import type { Log } from "./log.ts";

export type SessionLock = {
  /** Unique among the locks of the program; must never change. */
  number: number;
  /** The error message for a process that finds the lock held by `holder`. */
  refusal: (holder: string) => string;
};

export type SessionLockSettings = {
  url: string;
  /** Through a pooler nothing is locked, because its server connections are shared. */
  mayBePooled: boolean;
  locks: readonly SessionLock[];
  log: Log;
  /** Called, at most once, when another process has taken a lock while the connection was lost. */
  onTaken: (error: LockTakenError) => void;
  /** Waits so long for a holder that is about to end, or whose end Postgres has not noticed yet. */
  waitMs?: number;
};

export type SessionLocks = { release: () => Promise<void> };

/** Another process has the lock. */
export class LockTakenError extends Error {}

/** Separates the locks of this program from others in the same database: "vede" in ASCII. */
const lockClass = 0x76656465;

/** More than Postgres takes to notice that the machine of a holder is gone. */
const takenAfterMs = 10_000;
const tryEveryMs = 200;

const pingEveryMs = 5_000;
/** Far more than a busy server needs. */
const queryTimeoutMs = 15_000;
const reconnecting = { firstMs: 100, longestMs: 2_000 };
const releaseWithinMs = 2_000;

/** A machine that loses power doesn't close its connection: keepalive frees its locks after six seconds. */
const noticeLostPeers = `SELECT set_config('tcp_keepalives_idle', '3', false),
  set_config('tcp_keepalives_interval', '1', false), set_config('tcp_keepalives_count', '3', false)`;

/** A proxy in between may keep a connection open that we have lost, and with it the locks. */
const endOwnLeftovers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = $1 AND pid <> pg_backend_pid()`;

/** Throws `LockTakenError` when another process still holds one of the locks after `waitMs`. */
export async function holdSessionLocks(settings: SessionLockSettings): Promise<SessionLocks> {
  if (settings.locks.length === 0) return { release: async () => {} };
  const closing = new AbortController();
  const holding = { ...settings, name: newName(), signal: closing.signal };
  const first = await takeLocks(holding);
  const kept = keepLocks(first, holding);
  return {
    release: async () => {
      closing.abort();
      // Limited, because the server may not answer.
      await inTime(() => kept, { limitMs: releaseWithinMs, otherwise: undefined });
    },
  };
}

type LockHolder = SessionLockSettings & {
  /** Application name of the connection that holds these locks, and of those that replace it. */
  name: string;
  /** Aborted when the locks are no longer needed. */
  signal: AbortSignal;
};

/** A unique name by which people recognize the holder. Postgres cuts it at 63 characters. */
function newName(): string {
  const random = randomBytes(4).toString("hex");
  return `vedette ${hostname().slice(0, 30)} pid ${process.pid} ${random}`;
}

async function keepLocks(first: pg.Client, settings: LockHolder): Promise<void> {
  const { signal } = settings;
  for (let client: pg.Client | undefined = first; client !== undefined; ) {
    const detail = await untilLost(client, signal);
    await endClient(client);
    if (signal.aborted) return;
    settings.log.warn({ detail }, "connection that holds locks lost");
    client = await takeAgain(settings);
    if (client !== undefined) settings.log.info("locks are held again");
  }
}

/** Returns why the connection was lost; also returns when `signal` is aborted. */
async function untilLost(client: pg.Client, signal: AbortSignal): Promise<string> {
  const ended = new AbortController();
  client.once("end", () => ended.abort());
  const over = AbortSignal.any([signal, ended.signal]);
  while (!over.aborted) {
    await pause(pingEveryMs, over);
    if (over.aborted) break;
    try {
      // Only this detects a peer that is gone without closing the connection.
      await client.query("SELECT 1");
    } catch (error) {
      return (error as Error).message;
    }
  }
  return "connection ended";
}

/** Undefined when the locks are no longer needed, or another process has one by now. */
async function takeAgain(settings: LockHolder): Promise<pg.Client | undefined> {
  const { signal } = settings;
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const client = await takeLocks(settings);
      if (!signal.aborted) return client;
      await endClient(client);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof LockTakenError) {
        settings.onTaken(error);
        return undefined;
      }
      await pause(backoffMs(failures, reconnecting), signal);
    }
  }
  return undefined;
}

async function takeLocks(settings: LockHolder): Promise<pg.Client> {
  const { url, locks, name, mayBePooled, signal, waitMs = takenAfterMs } = settings;
  const client = await connectDirectly(url, {
    applicationName: name,
    queryTimeoutMs,
    mayBePooled,
    signal,
  });
  try {
    if (isPooled(client)) return client;
    await client.query(noticeLostPeers);
    // Without this permission, `takeLock` waits for them as for any other holder.
    await client.query(endOwnLeftovers, [name]).catch(() => {});
    const deadlineMs = performance.now() + waitMs;
    for (const lock of locks) await takeLock(client, lock, { deadlineMs, signal });
    return client;
  } catch (error) {
    await endClient(client);
    throw error;
  }
}

async function takeLock(
  client: pg.Client,
  lock: SessionLock,
  { deadlineMs, signal }: { deadlineMs: number; signal: AbortSignal },
): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isTaken: boolean }>(
      'SELECT pg_try_advisory_lock($1, $2) AS "isTaken"',
      [lockClass, lock.number],
    );
    if (rows[0]?.isTaken === true) return;
    if (performance.now() >= deadlineMs) break;
    await delay(tryEveryMs, undefined, { signal });
  }
  throw new LockTakenError(lock.refusal(await findHolder(client, lock)));
}

/** The holder of a lock, as far as this Postgres user may see it. */
async function findHolder(client: pg.Client, lock: SessionLock): Promise<string> {
  const { rows } = await client.query<{ name: string | null; since: Date | null }>(
    `SELECT application_name AS name, backend_start AS since
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND classid = $1 AND objid = $2 AND objsubid = 2
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [lockClass, lock.number],
  );
  const { name, since } = rows[0] ?? {};
  if (!name) return "an unknown process";
  return since ? `${name}, since ${since.toISOString()}` : name;
}
