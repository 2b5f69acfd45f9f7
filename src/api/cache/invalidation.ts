/**
 * How every `api` process learns within a moment that something it has cached has changed: the
 * change notifies in its own transaction, and all processes listen. While a process cannot hear, its
 * caches are not to be believed.
 */
import { randomBytes } from "node:crypto";
import type { ClientBase } from "pg";
import pg from "pg";
import type { Log } from "#kernel/log.ts";
import { pause } from "#kernel/pause.ts";

/** What has changed. A workspace covers all that is in it; `new`: what was not there before. */
export type Stale =
  `${"key" | "identity" | "keySpace" | "workspace" | "namespace" | "new"}:${string}`;

export type Invalidations = {
  /** Whether this process has heard all that was announced until less than a second ago. */
  isLive: () => boolean;
  /** Tells all processes, when and if `transaction` commits. */
  announce: (transaction: ClientBase, stale: readonly Stale[]) => Promise<void>;
  /** Tells this process at once. */
  apply: (stale: readonly Stale[]) => void;
  /** `stale` undefined: anything may have changed. */
  subscribe: (listener: (stale: Stale | undefined) => void) => void;
  close: () => Promise<void>;
};

const channel = "vedette_api";

/**
 * A ping is a notification of our own, sent the way that changes are announced: what was announced
 * before it has been heard when it comes back. Together under the second within which a disabled key
 * must be refused everywhere.
 */
const pingEveryMs = 250;
const pingTimeoutMs = 500;
const deafAfterMs = 900;
const reconnectAfterMs = 200;

/** A loss that goes on is told so often. */
const tellAgainAfterMs = 60_000;

/** Postgres refuses longer notifications than 8,000 bytes. */
const tagsPerNotification = 150;

/**
 * Listens on a connection of its own to `listenUrl`, and connects again when it is lost, or when what
 * is announced at `databaseUrl` does not arrive there: a pooler in between swallows notifications, and
 * another database has none.
 */
export function listenForInvalidations(
  databaseUrl: string,
  log: Log,
  listenUrl = databaseUrl,
): Invalidations {
  const listeners: ((stale: Stale | undefined) => void)[] = [];
  const tell = (stale: Stale | undefined) => {
    for (const listener of listeners) listener(stale);
  };
  const closing = new AbortController();
  let heardAt = Number.NEGATIVE_INFINITY;
  const loss = createLossLog(log);
  const hearing = keepListening({
    databaseUrl,
    listenUrl,
    signal: closing.signal,
    onNotification: (payload) => {
      for (const stale of payload.split(" ")) tell(stale as Stale);
    },
    // Whatever was announced before this moment was not heard.
    onListening: () => tell(undefined),
    onPong: (sentAt) => {
      heardAt = sentAt;
      loss.over();
    },
    onLost: loss.tell,
  });
  return {
    isLive: () => performance.now() - heardAt < deafAfterMs,
    announce,
    apply: (stale) => stale.forEach(tell),
    subscribe: (listener) => listeners.push(listener),
    close: async () => {
      closing.abort();
      await hearing;
    },
  };
}

/** Says that nothing is heard, at first and now and then, and when that is over. */
function createLossLog(log: Log) {
  let toldAt: number | undefined;
  return {
    tell: (error: Error) => {
      const nowMs = performance.now();
      if (toldAt !== undefined && nowMs - toldAt < tellAgainAfterMs) return;
      toldAt = nowMs;
      log.warn({ detail: error.message }, "cache invalidation not heard");
    },
    over: () => {
      if (toldAt !== undefined) log.info("cache invalidation heard again");
      toldAt = undefined;
    },
  };
}

/** Tells all processes, when and if `transaction` commits. */
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
  /** `sentAt`: when the ping was sent that has come back. */
  onPong: (sentAt: number) => void;
  onLost: (error: Error) => void;
};

async function keepListening(hearing: Subscription): Promise<void> {
  while (!hearing.signal.aborted) {
    await listenOnce(hearing).catch((error: Error) => {
      if (!hearing.signal.aborted) hearing.onLost(error);
    });
    await pause(reconnectAfterMs, hearing.signal);
  }
}

async function listenOnce(hearing: Subscription): Promise<void> {
  const ear = connectionTo(hearing.listenUrl);
  const mouth = connectionTo(hearing.databaseUrl);
  // Nobody else has to hear it.
  const ownChannel = `vedette_ping_${randomBytes(8).toString("hex")}`;
  let onPing: (text: string) => void = () => {};
  ear.on("notification", ({ channel: on, payload = "" }) => {
    if (on === ownChannel) onPing(payload);
    else hearing.onNotification(payload);
  });
  try {
    await Promise.all([ear.connect(), mouth.connect()]);
    await ear.query(`LISTEN ${channel}`);
    await ear.query(`LISTEN ${ownChannel}`);
    hearing.onListening();
    for (let count = 0; !hearing.signal.aborted; count += 1) {
      const sentAt = performance.now();
      const back = new Promise<void>((resolve) => {
        onPing = (text) => text === String(count) && resolve();
      });
      await mouth.query(pingQuery, [ownChannel, String(count)]);
      await withTimeLimit(back, pingTimeoutMs);
      hearing.onPong(sentAt);
      await pause(sentAt + pingEveryMs - performance.now(), hearing.signal);
    }
  } finally {
    // Connections that hang are not waited for.
    for (const client of [ear, mouth]) void client.end().catch(() => {});
  }
}

/** Nothing is lost that must be kept: the disk is not waited for. */
const pingQuery = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

function connectionTo(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: pingTimeoutMs,
    application_name: "vedette invalidation",
  });
  // Without a listener a lost connection would end the process; the next ping finds it as well.
  client.on("error", () => {});
  return client;
}

async function withTimeLimit(promise: Promise<void>, ms: number): Promise<void> {
  const { promise: limit, reject } = Promise.withResolvers<never>();
  const detail =
    "a notification of our own did not come back; is database.url a connection pooler's, or of another " +
    "database than database.direct_url?";
  const timer = setTimeout(() => reject(new Error(detail)), ms);
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}
