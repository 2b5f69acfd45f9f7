/**
 * How every `api` process learns within a moment that something it has cached has changed: the
 * change notifies in its own transaction, and all processes listen. While a process cannot hear, its
 * caches are not to be believed.
 */
import type { ClientBase } from "pg";
import pg from "pg";
import type { Log } from "#kernel/log.ts";

/** What has changed. A workspace covers all that is in it. */
export type Stale = `${"key" | "identity" | "keySpace" | "workspace" | "namespace"}:${string}`;

export type Invalidations = {
  /** Whether this process heard the database less than a second ago. */
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

/** Together under the second within which a disabled key must be refused everywhere. */
const pingEveryMs = 250;
const pingTimeoutMs = 500;
const deafAfterMs = 900;
const reconnectAfterMs = 200;

/** Postgres refuses longer notifications than 8,000 bytes. */
const tagsPerNotification = 150;

/** Listens on a connection of its own to `databaseUrl`, and connects again when it is lost. */
export function listenForInvalidations(databaseUrl: string, log: Log): Invalidations {
  const listeners: ((stale: Stale | undefined) => void)[] = [];
  const tell = (stale: Stale | undefined) => {
    for (const listener of listeners) listener(stale);
  };
  const closing = new AbortController();
  let heardAt = Number.NEGATIVE_INFINITY;
  const hearing = keepListening({
    databaseUrl,
    signal: closing.signal,
    onNotification: (payload) => {
      for (const stale of payload.split(" ")) tell(stale as Stale);
    },
    // Whatever was announced before this moment was not heard.
    onListening: () => tell(undefined),
    onPong: () => {
      heardAt = performance.now();
    },
    onLost: (error) => log.warn({ detail: error.message }, "cache invalidation not heard"),
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

/** Tells all processes, when and if `transaction` commits. */
export async function announce(transaction: ClientBase, stale: readonly Stale[]): Promise<void> {
  const tags = [...new Set(stale)];
  for (let start = 0; start < tags.length; start += tagsPerNotification) {
    const payload = tags.slice(start, start + tagsPerNotification).join(" ");
    await transaction.query("SELECT pg_notify($1, $2)", [channel, payload]);
  }
}

type Hearing = {
  databaseUrl: string;
  signal: AbortSignal;
  onNotification: (payload: string) => void;
  onListening: () => void;
  onPong: () => void;
  onLost: (error: Error) => void;
};

async function keepListening(hearing: Hearing): Promise<void> {
  while (!hearing.signal.aborted) {
    await listenOnce(hearing).catch((error: Error) => {
      if (!hearing.signal.aborted) hearing.onLost(error);
    });
    await pause(reconnectAfterMs, hearing.signal);
  }
}

async function listenOnce(hearing: Hearing): Promise<void> {
  const client = new pg.Client({
    connectionString: hearing.databaseUrl,
    connectionTimeoutMillis: 2_000,
    query_timeout: pingTimeoutMs,
    application_name: "vedette invalidation",
  });
  // Without a listener a lost connection would end the process; the next ping finds it as well.
  client.on("error", () => {});
  client.on("notification", ({ payload }) => hearing.onNotification(payload ?? ""));
  try {
    await client.connect();
    await client.query(`LISTEN ${channel}`);
    hearing.onListening();
    while (!hearing.signal.aborted) {
      await client.query("SELECT 1");
      hearing.onPong();
      await pause(pingEveryMs, hearing.signal);
    }
  } finally {
    // A connection that hangs is not waited for.
    void client.end().catch(() => {});
  }
}

/** Unlike `setTimeout` of `timers/promises`, an abort ends it without a throw. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) return Promise.resolve();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
