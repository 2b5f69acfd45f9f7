/**
 * Cache invalidation across all `api` processes, by Postgres' LISTEN and NOTIFY: a change notifies in its
 * own transaction, and every process listens. While a process receives no notifications, its caches may
 * be stale.
 */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { ClientBase } from "pg";
import { pause, unlessLate } from "#kernel/async.ts";
import { Client } from "#kernel/database-connection.ts";
import type { Log } from "#kernel/log.ts";

/** A change. A workspace covers everything in it; `new`: something that did not exist before. */
export type Stale =
  `${"key" | "identity" | "keySpace" | "workspace" | "namespace" | "new"}:${string}`;

export type Invalidations = {
  /** True if this process has received all that was announced until a second ago. `now`: `performance.now()`, if known. */
  isLive: (now?: number) => boolean;
  /** Notifies all processes, when and if `transaction` commits. */
  announce: (transaction: ClientBase, stale: readonly Stale[]) => Promise<void>;
  /** Notifies this process at once. */
  apply: (stale: readonly Stale[]) => void;
  /** Hears what other threads of this process have changed until now; absent: it has one thread. */
  catchUp?: () => void;
  /** `stale` undefined: anything may have changed. */
  subscribe: (listener: (stale: Stale | undefined) => void) => void;
  close: () => Promise<void>;
};

const channel = "vedette_api";

/**
 * A ping is a notification that a process sends to itself, in the way in which changes are announced:
 * once it is received, everything announced before it has been received too. The times together are
 * below the second within which a disabled key must be refused everywhere.
 */
const pingEveryMs = 250;
const pingTimeoutMs = 500;
export const lostAfterMs = 900;
const reconnectAfterMs = 200;

/** A loss that continues is logged again after so long. */
const logAgainAfterMs = 60_000;

/** Postgres refuses notifications of more than 8,000 bytes. */
const tagsPerNotification = 150;

type Source = {
  databaseUrl: string;
  /** Address of Postgres itself, if `databaseUrl` may be a pooler's. */
  listenUrl: string;
  log: Log;
  /** A member that is undefined: anything may have changed. */
  onStale: (stale: readonly (Stale | undefined)[]) => void;
  /** Everything that was announced before `sentAt` (`performance.now()`) has been received. */
  onReceived: (sentAt: number) => void;
};

/**
 * Listens on its own connection to `listenUrl`. Reconnects when the connection is lost, or when what is
 * announced at `databaseUrl` is not received there: a connection pooler in between drops notifications,
 * and another database never sends them.
 */
export function receiveInvalidations(source: Source): { close: () => Promise<void> } {
  const { databaseUrl, listenUrl, log, onStale, onReceived } = source;
  const closing = new AbortController();
  const loss = createLossLog(log);
  const listening = keepListening({
    databaseUrl,
    listenUrl,
    signal: closing.signal,
    onNotification: (payload) => onStale(payload.split(" ") as Stale[]),
    // Nothing that was announced before this moment has been received.
    onListening: () => onStale([undefined]),
    onPong: (sentAt) => {
      onReceived(sentAt);
      loss.over();
    },
    onLost: loss.log,
  });
  return {
    close: async () => {
      closing.abort();
      await listening;
    },
  };
}

export function listenForInvalidations(
  databaseUrl: string,
  log: Log,
  listenUrl = databaseUrl,
): Invalidations {
  const listeners: ((stale: Stale | undefined) => void)[] = [];
  const apply = (stale: readonly (Stale | undefined)[]) => {
    for (const one of stale) for (const listener of listeners) listener(one);
  };
  let receivedAt = Number.NEGATIVE_INFINITY;
  const onReceived = (sentAt: number) => {
    receivedAt = sentAt;
  };
  const source = { databaseUrl, listenUrl, log, onStale: apply, onReceived };
  const { close } = receiveInvalidations(source);
  return {
    isLive: (now = performance.now()) => now - receivedAt < lostAfterMs,
    announce,
    apply,
    subscribe: (listener) => listeners.push(listener),
    close,
  };
}

/** Logs that notifications are not received: when it begins, now and then, and when it ends. */
function createLossLog(log: Log) {
  let loggedAt: number | undefined;
  return {
    log: (error: Error) => {
      const nowMs = performance.now();
      if (loggedAt !== undefined && nowMs - loggedAt < logAgainAfterMs) return;
      loggedAt = nowMs;
      log.warn({ detail: error.message }, "cache invalidations are not received");
    },
    over: () => {
      if (loggedAt !== undefined) log.info("cache invalidations are received again");
      loggedAt = undefined;
    },
  };
}

/** Notifies all processes, when and if `transaction` commits. */
export async function announce(transaction: ClientBase, stale: readonly Stale[]): Promise<void> {
  const tags = [...new Set(stale)];
  for (let start = 0; start < tags.length; start += tagsPerNotification) {
    const payload = tags.slice(start, start + tagsPerNotification).join(" ");
    await transaction.query("SELECT pg_notify($1, $2)", [channel, payload]);
  }
}

type Subscription = {
  databaseUrl: string;
  listenUrl: string;
  signal: AbortSignal;
  onNotification: (payload: string) => void;
  onListening: () => void;
  /** `sentAt`: when the ping was sent that has been received now. */
  onPong: (sentAt: number) => void;
  onLost: (error: Error) => void;
};

async function keepListening(subscription: Subscription): Promise<void> {
  const { signal, onLost } = subscription;
  while (!signal.aborted) {
    await listenOnce(subscription).catch((error: Error) => {
      if (!signal.aborted) onLost(error);
    });
    await pause(reconnectAfterMs, signal);
  }
}

async function listenOnce(subscription: Subscription): Promise<void> {
  const { signal } = subscription;
  const receiver = connectionTo(subscription.listenUrl);
  const sender = connectionTo(subscription.databaseUrl);
  // No other process listens to the pings.
  const ownChannel = `vedette_ping_${randomBytes(8).toString("hex")}`;
  let onPing: (text: string) => void = () => {};
  receiver.on("notification", ({ channel: on, payload = "" }) => {
    if (on === ownChannel) onPing(payload);
    else subscription.onNotification(payload);
  });
  try {
    await Promise.all([receiver.connect(), sender.connect()]);
    await receiver.query(`LISTEN ${channel}`);
    await receiver.query(`LISTEN ${ownChannel}`);
    subscription.onListening();
    for (let count = 0; !signal.aborted; count += 1) {
      const sentAt = performance.now();
      const back = new Promise<void>((resolve) => {
        onPing = (text) => text === String(count) && resolve();
      });
      await sender.query(pingQuery, [ownChannel, String(count)]);
      await unlessLate(() => back, { limitMs: pingTimeoutMs, late: new Error(notReceived) });
      subscription.onPong(sentAt);
      await pause(sentAt + pingEveryMs - performance.now(), signal);
    }
  } finally {
    // Connections that hang are not waited for.
    for (const client of [receiver, sender]) void client.end().catch(() => {});
  }
}

/** A ping is not worth keeping: its transaction does not wait for the disk. */
const pingQuery = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

function connectionTo(url: string): pg.Client {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: pingTimeoutMs,
    application_name: "vedette invalidation",
  });
  // Without a listener a lost connection would end the process; the next ping finds it as well.
  client.on("error", () => {});
  return client;
}

const notReceived =
  "a notification that this process sent was not received; is database.url a connection pooler's, or " +
  "of another database than database.direct_url?";
