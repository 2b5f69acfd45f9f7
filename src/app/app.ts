/** Wires the program: which parts there are, in which order they start, and what each is given. */
import type { Config } from "#config.ts";
import type { Credentials, Endpoints } from "#embedded/contract.ts";
import { loadCredentials } from "#embedded/credentials.ts";
import { openDataDir } from "#embedded/data-dir.ts";
import type { LockSettings } from "#embedded/data-dir-lock.ts";
import { publishEndpoints } from "#embedded/endpoints.ts";
import { withoutCredentials } from "#embedded/running.ts";
import { createDeparture } from "#kernel/departure.ts";
import { inTime } from "#kernel/in-time.ts";
import type { Log } from "#kernel/log.ts";
import { unlessAborted } from "#kernel/unless-aborted.ts";
import { createRegistry } from "#metrics/registry.ts";
import { readActorKey } from "./actor-key.ts";
import { startAnalytics } from "./analytics.ts";
import { startApi } from "./api.ts";
import type { Base } from "./base.ts";
import { createConsoleLinks } from "./console-links.ts";
import { startControl } from "./control.ts";
import { startDatabase, startRestateServer } from "./data.ts";
import { startMetrics, startProbing } from "./metrics.ts";
import { createMonitor } from "./monitor.ts";
import { refuseSettings } from "./refusals.ts";
import { startRestateFront } from "./restate-front.ts";
import { createResults } from "./results.ts";
import { createStops, type Stops } from "./stops.ts";
import { startWorker } from "./worker.ts";

/** What one process can be; a laptop is all of them (docs/architecture.md, "The parts"). */
export const roles = ["worker", "control", "api"] as const;
export type Role = (typeof roles)[number];

export type App = {
  endpoints: Endpoints;
  dataDir: string;
  stop: () => Promise<void>;
  /** Resolves with the reason when it has to be stopped, though nobody asked for it. */
  failed: Promise<Error>;
};

type Start = {
  roles: Role[];
  log: Log;
  /** Aborted when it is told to stop, while it starts: then its reason is thrown. */
  signal?: AbortSignal;
};

/** How long a step of a start that nobody waits for any more may take to give up. */
const givesUpWithinMs = 5_000;

/**
 * Starts the roles, and the embedded servers that no URL replaces. When a part does not start,
 * those before it are stopped again and its error is thrown.
 */
export async function startApp(config: Config, of: Start): Promise<App> {
  refuseSettings(config, of.roles);
  const failure = Promise.withResolvers<Error>();
  const start = { ...of, signal: abortedBy(failure.promise, of.signal) };
  const stops = createStops(of.log, start.signal);
  // Given up last: what is still under way may write into the data directory.
  const lock = createStops(of.log, start.signal);
  const starting = startAll(config, start, { stops, lock, failure });
  try {
    return await unlessAborted(starting, start.signal);
  } catch (error) {
    await stops.run();
    // What was under way when it was told to stop may have added a part since.
    const givingUp = () => starting.then(() => {});
    await inTime(givingUp, { limitMs: givesUpWithinMs, otherwise: undefined });
    await stops.run();
    await lock.run();
    throw error;
  }
}

/** Also aborted, with the error, once the program cannot go on: a start may take minutes. */
function abortedBy(failed: Promise<Error>, told: AbortSignal | undefined): AbortSignal {
  const failing = new AbortController();
  void failed.then((error) => failing.abort(error));
  return told === undefined ? failing.signal : AbortSignal.any([told, failing.signal]);
}

async function startAll(
  config: Config,
  of: Start,
  { stops, lock, failure }: { stops: Stops; lock: Stops; failure: PromiseWithResolvers<Error> },
): Promise<App> {
  const settings = { ...lockSettings(config, of.log, failure.resolve), signal: of.signal };
  const dataDir = await openDataDir(config.data_dir, settings);
  lock.add("data directory", dataDir.release);
  const credentials = withSettings(loadCredentials(dataDir.path), config);
  const registry = createRegistry(of.roles);
  const departure = createDeparture();
  const base: Base = {
    config,
    log: of.log,
    dataDir: dataDir.path,
    credentials,
    registry,
    departure,
    fail: failure.resolve,
  };
  const endpoints = await startParts(base, of.roles, stops);
  stops.add("endpoints", publishEndpoints(dataDir.path, endpoints));
  // Once another process does this one's work, every second of both is too long.
  const leave = () =>
    departure
      .announce(config.shutdown_delay_seconds, failure.promise)
      .then(stops.run)
      .then(lock.run);
  return { endpoints, dataDir: dataDir.path, stop: leave, failed: failure.promise };
}

function lockSettings({ data_dir }: Config, log: Log, fail: (reason: Error) => void): LockSettings {
  return {
    onWatch: (watchMs) =>
      log.info(
        { data_dir, ms: watchMs },
        "looking whether another container uses the data directory",
      ),
    onLost: () => fail(new Error(`another program has taken data_dir ${data_dir}`)),
  };
}

/** What the operator has set stands over what was generated. */
function withSettings(credentials: Credentials, config: Config): Credentials {
  return {
    ...credentials,
    ingress_token: config.control.ingress_token || credentials.ingress_token,
    root_key: config.api.root_key || credentials.root_key,
  };
}

async function startParts(base: Base, wanted: Role[], stops: Stops): Promise<Endpoints> {
  const metrics = await startMetrics(base, stops);
  const { database, databaseUrl, directUrl } = await startDatabase(base, {
    roles: wanted,
    stops,
  });
  startProbing(base, database, stops);
  const results = createResults({ ...base, database });
  const servesApi = wanted.includes("api");
  const analytics = await startAnalytics(base, { servesApi, stops });
  const api = servesApi
    ? await startApi(base, { analytics, database, databaseUrl, directUrl, stops })
    : undefined;
  const monitor = createMonitor(base, { database, databaseUrl, results, apiUrl: api, stops });
  const parts = { database, results, monitor, links: createConsoleLinks(base.config), stops };
  // The public API alone asks nothing of Restate.
  const durable = wanted.some((role) => role !== "api")
    ? await startDurable(base, wanted, { ...parts, analytics, apiUrl: api })
    : {};
  return {
    ...(api !== undefined && { api }),
    ...durable,
    metrics,
    ...(base.config.database.url === "" && { database: withoutCredentials(databaseUrl) }),
    pid: process.pid,
  };
}

type DurableParts = Omit<Parameters<typeof startWorker>[1], keyof RestateServer | "actorKey">;
type RestateServer = Awaited<ReturnType<typeof startRestateServer>>;

/** What runs on Restate, and where it is. */
async function startDurable(base: Base, wanted: Role[], parts: DurableParts) {
  const restate = await startRestateServer(base, parts.stops);
  const actorKey = await readActorKey(parts.database);
  const shared = { ...parts, ...restate, actorKey };
  const { places, close } = await startRestateFront(base, shared);
  const worker = wanted.includes("worker") ? await startWorker(base, shared) : undefined;
  // Before the worker is stopped, so that calls under way find who answers them.
  parts.stops.add("Restate's addresses", close);
  const control = wanted.includes("control") ? await startControl(base, shared) : undefined;
  return {
    ...(control !== undefined && { control }),
    ...(worker !== undefined && { worker }),
    ...places,
  };
}
