/** The calls between the main thread of a process and a further thread of its public API. */
import { type BirpcReturn, createBirpc } from "birpc";
import type { MetricObject } from "prom-client";
import type { Batch } from "#api/analytics/batch.ts";
import type { EngineQuery } from "#api/analytics/engine/engine-client.ts";
import type { EngineFailure } from "#api/analytics/engine/engine-error.ts";
import type { Retention } from "#api/analytics/retention.ts";
import { createInvalidationMemory } from "#api/cache/thread-invalidations.ts";
import { createCellMemory } from "#api/ratelimit/limiter/cell-memory.ts";
import type { Config } from "#config.ts";
import type { Credentials } from "#embedded/contract.ts";

export type ThreadMemory = ReturnType<typeof createThreadMemory>;

export const stateWords = { isLeaving: 0, storeState: 1, isStoreAway: 2 } as const;

/** States by their number in `storeState`. */
export const storeStates = ["resting", "starting", "ready", "away", "absent"] as const;

export function createThreadMemory() {
  return {
    cells: createCellMemory(),
    invalidations: createInvalidationMemory(),
    states: new Int32Array(new SharedArrayBuffer(3 * 4)),
  };
}

export type ThreadData = {
  config: Config;
  credentials: Credentials;
  dataDir: string;
  databaseUrl: string;
  memory: ThreadMemory;
  /** Numbers start at 2; the main thread is the first. */
  number: number;
  cachedKeys: number;
  /** Most connections to Postgres that it has. */
  connections: number;
  /** The ports at which the main thread listens. */
  ports: { http: number; https: number | undefined };
  /** undefined: nothing is recorded. */
  analytics: { database: string; retention: Retention } | undefined;
};

/** Place of a batch. `ticket` is for asking when a held one has left the memory. */
export type TakenBatch =
  | { state: "spooled" }
  | { state: "held"; ticket: number }
  | { state: "dropped"; reason: string };

export type QueryAnswer = { text: string } | { failure: EngineFailure; message: string };

export type MainCalls = {
  /** The thread serves. */
  reportReady: () => void;
  takeBatch: (batch: Batch) => Promise<TakenBatch>;
  awaitLeft: (ticket: number) => Promise<void>;
  query: (query: EngineQuery) => Promise<QueryAnswer>;
};

export type ThreadCalls = {
  /** Returns its metrics, as prom-client has them in JSON. */
  metrics: () => Promise<MetricObject[]>;
  /** Answers the requests in flight and stops what it has started; the thread ends afterwards. */
  stop: () => Promise<void>;
};

/** A port of a channel between two threads. */
type Port = {
  postMessage: (message: unknown) => void;
  on: (event: "message", listener: (message: unknown) => void) => unknown;
};

/** Calls over a port. They have no time limit: what they wait for has its own. */
export function connect<Theirs extends object, Ours extends object>(
  port: Port,
  ours: Ours,
): BirpcReturn<Theirs, Ours> {
  return createBirpc<Theirs, Ours>(ours, {
    post: (message) => port.postMessage(message),
    on: (listener) => port.on("message", listener),
    timeout: -1,
  });
}
