/**
 * The analytics store, embedded or remote: prepared in the background, and again after each loss. The embedded one is
 * started by the first row or query, and ended when there was none for a while: it takes 240 MB.
 */
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import type { Batch } from "#api/analytics/batch.ts";
import type { Retention } from "#api/analytics/retention.ts";
import { backoffMs, inTime, pause } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { type EmbeddedEngine, endLeftoverEngine, startEmbeddedEngine } from "./embedded-engine.ts";
import {
  type EngineAddress,
  EngineClient,
  type EngineQuery,
  parseRows,
  queriesAtOnce,
  type Row,
} from "./engine-client.ts";
import { engineError } from "./engine-error.ts";
import { readerCount } from "./http-interface.ts";
import { isEngineInstalled } from "./is-installed.ts";
import { schemaStatements } from "./schema.ts";

/** The longest wait for a lane: a call may take a minute in all, after which its caller gets a timeout. */
export const laneTimeoutMs = 40_000;

type TakeLane = ReturnType<typeof createLanes>;

/** Throws the `EngineError` of too many queries at the same time when no lane is free within the wait. */
export function createLanes(atOnce: number) {
  const lanes = pLimit(atOnce);
  return <Result>(work: () => Promise<Result>, waitAtMostMs = laneTimeoutMs): Promise<Result> =>
    new Promise((resolve, reject) => {
      let hasLeft = false;
      const leave = () => {
        hasLeft = true;
        reject(engineError("quota"));
      };
      const timer = setTimeout(leave, waitAtMostMs).unref();
      void lanes(async () => {
        clearTimeout(timer);
        if (!hasLeft) await work().then(resolve, reject);
      });
    });
}

type EngineSettings = {
  /** The URL of a ClickHouse server, with user, password and database as needed. Empty: embedded. */
  url: string;
  dataDir: string;
  retention: Retention;
  log: Log;
  /** Called with the address of the embedded engine, which is another one after each of its starts. */
  onEmbedded?: (url: string) => void;
  /** The embedded engine is ended when there was no row and no query for so long. */
  restAfterMs?: number;
  /** Stores the rows that have waited while it rested, before a query that starts it is answered. */
  sendWaiting?: () => Promise<void>;
};

/** "resting": the next row or query starts the embedded engine. */
export type EngineState = "resting" | "starting" | "ready" | "away" | "absent";

/** A row or query waits so long for a remote store that does not answer yet. */
const remoteTimeoutMs = 5_000;
/** And so long for our own process, which takes a second of a processor, and more while its library is on disk only. */
const startTimeoutMs = 15_000;
const usualRestAfterMs = 5 * 60_000;
const sentWithinMs = 1_000;
const preparing = { firstMs: 200, longestMs: 10_000 };

export class Engine {
  readonly database: string;
  readonly #settings: EngineSettings;
  readonly #takeLane: TakeLane;
  readonly #closing = new AbortController();
  /** Aborts the attempts to connect to the present address. */
  #connecting = new AbortController();
  #embedded: EmbeddedEngine | undefined;
  /** Resolves once no earlier embedded engine uses the directory. */
  #ended: Promise<unknown> = Promise.resolve();
  /** Rows and queries in progress. */
  #uses = 0;
  #restTimer: NodeJS.Timeout | undefined;
  #client: EngineClient | undefined;
  #ready = Promise.withResolvers<EngineClient | undefined>();
  #state: EngineState = "starting";

  constructor(settings: EngineSettings) {
    this.#settings = settings;
    this.#takeLane = createLanes(settings.url === "" ? readerCount : queriesAtOnce);
    this.database = databaseOf(settings.url);
    const { url, restAfterMs = usualRestAfterMs } = settings;
    if (url !== "") {
      void this.#connect({ url });
      return;
    }
    this.#ended = endLeftoverEngine(settings);
    this.#state = "resting";
    this.#restTimer = setInterval(() => this.#rest(), restAfterMs).unref();
    // Its process says why it cannot run.
    if (!isEngineInstalled()) this.#wake();
  }

  /** Starts the embedded engine if it rests. */
  #wake(): void {
    if (this.#state !== "resting" || this.#closing.signal.aborted) return;
    this.#state = "starting";
    const { dataDir, log, onEmbedded } = this.#settings;
    const onReady = (address: EngineAddress) => {
      onEmbedded?.(address.url);
      void this.#connect(address);
    };
    const callbacks = { onReady, onAway: () => this.#lose(), onAbsent: () => this.#giveUp() };
    void this.#ended.then(() => {
      if (this.#closing.signal.aborted) return;
      this.#embedded = startEmbeddedEngine({ dataDir, log, ...callbacks });
    });
  }

  /** Ends the embedded engine, unless it is in use or not ready. What it has confirmed is on disk. */
  #rest(): void {
    if (this.#uses > 0 || this.#state !== "ready") return;
    this.#state = "resting";
    this.#ready = Promise.withResolvers();
    this.#ended = Promise.all([this.#client?.close(), this.#embedded?.stop()]);
    this.#client = undefined;
    this.#settings.log.info("analytics store rests until there is a row or a query");
  }

  /** Starts the engine if it rests, and lets it rest only when nothing has used it for a while. */
  async #use<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#wake();
    this.#uses += 1;
    try {
      return await work();
    } finally {
      this.#uses -= 1;
      this.#restTimer?.refresh();
    }
  }

  state(): EngineState {
    return this.#state;
  }

  /** Stores a batch once. Throws `BatchRefusedError`, or anything else when the store is away. */
  async insert(batch: Batch, signal: AbortSignal): Promise<void> {
    if (this.#state === "away") throw engineError("away");
    await this.#use(async () => (await this.#awaitClient(signal)).insert(batch, signal));
  }

  /** Throws `EngineError`. */
  async query(query: EngineQuery): Promise<Row[]> {
    return parseRows(await this.queryText(query));
  }

  /** The rows as text, for another thread: one JSON object per line. Throws `EngineError`. */
  async queryText(query: EngineQuery): Promise<string> {
    const { sendWaiting = async () => {} } = this.#settings;
    const isStart = this.#client === undefined;
    return this.#use(async () => {
      // Fails soon when the store is away, not only when a lane is free.
      await this.#awaitClient();
      if (isStart) await inTime(sendWaiting, { limitMs: sentWithinMs, otherwise: undefined });
      const ask = async () => (await this.#awaitClient()).query(query, this.#closing.signal);
      return this.#takeLane(ask, query.waitAtMostMs);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#restTimer);
    this.#ready.resolve(undefined);
    await this.#client?.close();
    await this.#embedded?.stop();
    await this.#ended;
  }

  async #awaitClient(signal = this.#closing.signal): Promise<EngineClient> {
    if (this.#client !== undefined) return this.#client;
    if (this.#state === "absent") throw engineError("absent");
    const timeoutMs = this.#settings.url === "" ? startTimeoutMs : remoteTimeoutMs;
    const client = await Promise.race([
      this.#ready.promise,
      delay(timeoutMs, undefined, { signal, ref: false }).catch(() => undefined),
    ]);
    if (client !== undefined) return client;
    throw engineError(this.#state === ("absent" as EngineState) ? "absent" : "away");
  }

  /** Creates the tables, with retries, then admits queries and inserts. */
  async #connect(address: EngineAddress): Promise<void> {
    const { retention, log } = this.#settings;
    const client = new EngineClient(address, this.database);
    const statements = schemaStatements(this.database, retention);
    this.#connecting = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, this.#connecting.signal]);
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await client.prepare(statements, signal);
        this.#enter(client);
        return;
      } catch (err) {
        if (signal.aborted) break;
        if (failures === 0) log.warn({ err }, "analytics store is not ready");
        await pause(backoffMs(failures, preparing), signal);
      }
    }
    await client.close();
  }

  #enter(client: EngineClient): void {
    this.#client = client;
    this.#state = "ready";
    this.#ready.resolve(client);
    this.#settings.log.info("analytics store is ready");
  }

  #lose(): void {
    this.#connecting.abort();
    void this.#client?.close();
    this.#client = undefined;
    if (this.#state === "ready") this.#ready = Promise.withResolvers();
    this.#state = "away";
  }

  #giveUp(): void {
    this.#state = "absent";
    this.#ready.resolve(undefined);
  }
}

/** The database in the URL's path; `vedette` without one. */
function databaseOf(url: string): string {
  const name = url === "" ? "" : new URL(url).pathname.replace(/^\/|\/$/g, "");
  if (name !== "" && !/^\w+$/.test(name)) {
    throw new Error("clickhouse.url: the database in its path may have letters, digits and _ only");
  }
  return name === "" ? "vedette" : name;
}
