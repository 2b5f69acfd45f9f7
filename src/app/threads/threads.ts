/** Further threads of the public API, started once the program is ready: each takes a tenth of the start to load. */
import { availableParallelism, totalmem } from "node:os";
import { Worker } from "node:worker_threads";
import { Counter, type MetricObject } from "prom-client";
import { EngineError } from "#api/analytics/engine/engine-error.ts";
import type { Analytics } from "#app/analytics.ts";
import type { Base } from "#app/base.ts";
import { callersLimitMs } from "#app/stops.ts";
import type { Config } from "#config.ts";
import { inTime } from "#kernel/async.ts";
import { programFile } from "#kernel/process.ts";
import { canSharePorts } from "#kernel/server.ts";
import {
  connect,
  type MainCalls,
  type QueryAnswer,
  stateWords,
  storeStates,
  type TakenBatch,
  type ThreadCalls,
  type ThreadData,
  type ThreadMemory,
} from "./contract.ts";

// Decides how many threads serve the public API, and the share of each.

/** More threads than this are started only where the settings say so. */
const usualMost = 16;

/** The memory of a machine or a container for each thread, so that all of them leave room for what else there is. */
const bytesPerThread = 512 * 1024 * 1024;

/** Connections to Postgres that the further threads have together, and each of them at least and at most. */
const connections = { together: 20, least: 3, most: 5 };

/** Counts the threads of the API with the main one. Throws when the settings want more than the system can. */
export function threadsOf({ threads }: { threads: number }, platform = process.platform): number {
  if (threads > 1 && !canSharePorts(platform)) {
    throw new Error(
      `api.threads: ${threads} threads cannot share a port on this system; leave it out, or set it to 1`,
    );
  }
  if (threads > 0) return threads;
  if (!canSharePorts(platform)) return 1;
  const forMemory = Math.floor(memoryBytes() / bytesPerThread);
  return Math.max(1, Math.min(usualMost, availableParallelism(), forMemory));
}

/** Returns the machine's memory, or the container's if that is limited. */
function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** Returns the most connections to Postgres that each further thread has. */
export function connectionsPerThread(threads: number): number {
  const { together, least, most } = connections;
  return Math.min(most, Math.max(least, Math.floor(together / Math.max(1, threads - 1))));
}

const entry = programFile("#app/threads/thread.ts");

/** Interval at which the threads get the state of the store. */
const publishEveryMs = 250;

/** Left of the time for a stop to end a thread that has not stopped. */
const terminatedWithinMs = 5_000;

const metricsWithinMs = 1_000;

export type ThreadsParts = {
  memory: ThreadMemory;
  data: Omit<ThreadData, "memory" | "number" | "connections">;
  /** Number of threads that serve the API, the main one included. */
  threads: number;
  analytics: Analytics["shared"];
  /** Replaces the threads' program, for tests. */
  program?: string | URL;
};

type ApiThreads = {
  /** Starts them, one after the other, in the background. */
  begin: () => void;
  /** Answers the requests in flight and ends them. */
  stop: () => Promise<void>;
  metrics: () => Promise<MetricObject[][]>;
};

type Thread = {
  worker: Worker;
  calls: ThreadCalls;
  ready: Promise<void>;
  ended: Promise<void>;
  isReady: boolean;
  metrics: MetricObject[];
};

export function createThreads(base: Base, parts: ThreadsParts): ApiThreads {
  const running: Thread[] = [];
  let isStopping = false;
  const { memory, analytics, threads } = parts;
  const publish = () => publishStoreState(memory.states, analytics);
  publish();
  const timer = setInterval(publish, publishEveryMs).unref();
  void base.departure.announced.then(() => Atomics.store(memory.states, stateWords.isLeaving, 1));
  const onEnd = (error: Error) => {
    if (!isStopping) base.fail(error);
  };
  const beginAll = async () => {
    for (let number = 2; number <= threads && !isStopping; number += 1) {
      const thread = startThread(parts, { number, onEnd });
      running.push(thread);
      await Promise.race([thread.ready, thread.ended]);
    }
    if (!isStopping) base.log.info({ threads }, "further threads serve the public API");
  };
  registerThreads(base, running);
  return {
    begin: () => void beginAll().catch(base.fail),
    stop: async () => {
      isStopping = true;
      clearInterval(timer);
      await Promise.all(running.map(stopThread));
    },
    metrics: () => Promise.all(running.map(readMetrics)),
  };
}

function startThread(
  { memory, data, analytics, threads, program = entry }: ThreadsParts,
  { number, onEnd }: { number: number; onEnd: (error: Error) => void },
): Thread {
  const workerData: ThreadData = {
    ...data,
    ...{ memory, number, connections: connectionsPerThread(threads) },
    config: withFormat(data.config),
  };
  const worker = new Worker(program, { workerData, name: `api ${number}` });
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let cause = new Error("it ended");
  worker.on("error", (error) => {
    cause = error as Error;
  });
  worker.on("exit", () => {
    ended.resolve();
    onEnd(new Error(`thread ${number} of the public API has ended: ${cause.message}`, { cause }));
  });
  const calls = connect<ThreadCalls, MainCalls>(worker, {
    reportReady: () => {
      thread.isReady = true;
      ready.resolve();
    },
    ...createAnalyticsCalls(analytics),
  });
  const thread: Thread = {
    ...{ worker, calls, ready: ready.promise, ended: ended.promise },
    isReady: false,
    metrics: [],
  };
  return thread;
}

/** Decides the log format here: the main thread alone knows if the output is a terminal. */
function withFormat(config: Config): Config {
  const { format } = config.log;
  if (format !== "auto") return config;
  const isTerminal = process.stdout.isTTY === true;
  return { ...config, log: { ...config.log, format: isTerminal ? "pretty" : "json" } };
}

/** Stops a thread once it has started: it may have accepted connections already. */
async function stopThread({ worker, calls, ready, ended }: Thread): Promise<void> {
  const stopped = () => Promise.race([ended, ready.then(() => calls.stop())]);
  await inTime(stopped, { limitMs: callersLimitMs - terminatedWithinMs, otherwise: undefined });
  await worker.terminate();
}

/** Returns the last reading of a thread that doesn't answer, as its event loop is blocked: a counter must not fall. */
async function readMetrics(thread: Thread): Promise<MetricObject[]> {
  const { calls, isReady, metrics: otherwise } = thread;
  if (!isReady) return otherwise;
  const read = () => calls.metrics();
  thread.metrics = await inTime(read, { limitMs: metricsWithinMs, otherwise });
  return thread.metrics;
}

/** Registers how busy each thread is: if all are busy, more threads or processes are needed. */
function registerThreads({ registry }: Base, running: readonly Thread[]): void {
  new Counter({
    name: "vedette_api_thread_busy_seconds_total",
    help: "How long the event loop of each thread of the public API was busy.",
    labelNames: ["thread"],
    registers: [registry],
    collect() {
      this.reset();
      const loops = [performance, ...running.map(({ worker }) => worker.performance)];
      for (const [index, loop] of loops.entries()) {
        const { active } = loop.eventLoopUtilization();
        this.inc({ thread: String(index + 1) }, active / 1_000);
      }
    },
  });
}

type AnalyticsParts = Analytics["shared"];

/** Tells all threads how the store is. */
function publishStoreState(states: Int32Array, analytics: AnalyticsParts): void {
  const state = analytics === undefined ? "absent" : analytics.engine.state();
  Atomics.store(states, stateWords.storeState, storeStates.indexOf(state));
  Atomics.store(states, stateWords.isStoreAway, analytics?.outbox.isAway() === true ? 1 : 0);
}

/** Creates the calls by which a thread uses analytics; it makes none while they are off. */
function createAnalyticsCalls(shared: AnalyticsParts): Omit<MainCalls, "reportReady"> {
  const leaving = new Map<number, Promise<void>>();
  let tickets = 0;
  return {
    takeBatch: async (batch): Promise<TakenBatch> => {
      if (shared === undefined) return { state: "dropped", reason: "analytics are off" };
      // The body arrives from another thread as a plain array of bytes.
      const body = Buffer.from(batch.body.buffer, batch.body.byteOffset, batch.body.byteLength);
      const placed = await shared.outbox.take({ ...batch, body });
      if (placed.state === "spooled") return placed;
      if (placed.state === "dropped") return { state: "dropped", reason: String(placed.error) };
      tickets += 1;
      leaving.set(tickets, placed.left);
      return { state: "held", ticket: tickets };
    },
    awaitLeft: async (ticket) => {
      await leaving.get(ticket);
      leaving.delete(ticket);
    },
    query: async (query): Promise<QueryAnswer> => {
      if (shared === undefined) return { failure: "absent", message: "Analytics are off." };
      try {
        return { text: await shared.engine.queryText(query) };
      } catch (error) {
        if (error instanceof EngineError) return { failure: error.failure, message: error.message };
        throw error;
      }
    },
  };
}
