/** The program of a further thread of the public API: the same API, on what the threads of a process share. */
import { parentPort, workerData } from "node:worker_threads";
import { Registry } from "prom-client";
import { parseRows } from "#api/analytics/engine/engine-client.ts";
import { EngineError } from "#api/analytics/engine/engine-error.ts";
import type { Outbox } from "#api/analytics/recording/outbox.ts";
import { createThreadInvalidations } from "#api/cache/thread-invalidations.ts";
import { closeGracefully } from "#api/http/close.ts";
import { SharedCells } from "#api/ratelimit/limiter/shared-cells.ts";
import { type Analytics, nothingRecorded, startRecorder } from "#app/analytics.ts";
import { serveHttps } from "#app/https.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { releaseMemoryOfStart } from "#kernel/process.ts";
import { type Base, startTracing } from "../base.ts";
import { serveApi } from "../serve-api.ts";
import { callersLimitMs, createStops } from "../stops.ts";
import {
  connect,
  type MainCalls,
  stateWords,
  storeStates,
  type ThreadCalls,
  type ThreadData,
} from "./contract.ts";

/** Width of the lane for lookups of unknown keys: a further thread has fewer connections than the main one. */
const laneWidth = 1;

/** Nothing in memory is this thread's own. */
const nothingHeld = { recovered: 0, stored: 0, dropped: 0, held: 0, spooled: 0 };

const data = workerData as ThreadData;
const { states } = data.memory;
const log = createLog(data.config.log).child({ thread: data.number });
const registry = new Registry();
const stops = createStops(log);
const main = connect<MainCalls, ThreadCalls>(parentPort as NonNullable<typeof parentPort>, {
  metrics: () => registry.getMetricsAsJSON(),
  stop: stops.run,
});

await start(createBase());
main.reportReady();
releaseMemoryOfStart();

function createBase(): Base {
  const { config, credentials, dataDir } = data;
  return {
    config,
    log,
    dataDir,
    credentials,
    services: [],
    own: () => {},
    registry,
    departure: {
      isAnnounced: () => Atomics.load(states, stateWords.isLeaving) === 1,
      announced: new Promise(() => {}),
    },
    // A thread that cannot continue ends, and the program with it.
    fail: (error) => {
      throw error;
    },
  };
}

async function start(base: Base): Promise<void> {
  // It would get a port of its own.
  if (data.ports.http === 0) throw new Error("the main thread's port is not known");
  await startTracing(log, stops);
  const database = openDatabase(data.databaseUrl, log, data.connections);
  stops.add("database", () => database.end());
  const invalidations = createThreadInvalidations(data.memory.invalidations);
  stops.add("invalidations", invalidations.close);
  const { api } = await serveApi(base, {
    database,
    invalidations,
    cells: new SharedCells(data.memory.cells, { sweeps: false }),
    analytics: startThreadAnalytics(base),
    cachedKeys: data.cachedKeys,
    laneWidth,
    reusePort: true,
    port: data.ports.http,
    stops,
  });
  stops.add("API", () => closeGracefully(api), callersLimitMs);
  const { https } = data.ports;
  if (https === undefined) return;
  await serveHttps(base, { api, database, stops, port: https, reusePort: true });
}

function startThreadAnalytics(base: Base): Pick<Analytics, "recorder" | "reading"> {
  const { analytics } = data;
  if (analytics === undefined) return { recorder: nothingRecorded, reading: undefined };
  const { database, retention } = analytics;
  const state = () => storeStates[Atomics.load(states, stateWords.storeState)] ?? "starting";
  return {
    recorder: startRecorder(base, { outbox: createMainOutbox(), state, stops }),
    reading: { store: { database, query: queryMain }, retention },
  };
}

/** The outbox of the main thread, which does the sending by itself. */
function createMainOutbox(): Outbox {
  return {
    take: async (batch) => {
      const taken = await main.takeBatch(batch);
      if (taken.state === "spooled") return taken;
      if (taken.state === "dropped") return { state: "dropped", error: new Error(taken.reason) };
      return { state: "held", left: main.awaitLeft(taken.ticket) };
    },
    wake: () => {},
    isAway: () => Atomics.load(states, stateWords.isStoreAway) === 1,
    drain: async () => {},
    close: async () => {},
    counters: () => nothingHeld,
  };
}

async function queryMain(query: Parameters<MainCalls["query"]>[0]) {
  const answer = await main.query(query);
  if ("failure" in answer) throw new EngineError(answer.failure, answer.message);
  return parseRows(answer.text);
}
