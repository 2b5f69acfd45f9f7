/** Wires the program: its parts, the order of their start, and what each of them gets. */
import type { Config } from "#config.ts";
import { createLogouts } from "#console/logouts.ts";
import type { Credentials, Endpoints } from "#embedded/contract.ts";
import { loadCredentials } from "#embedded/credentials.ts";
import { openDataDir } from "#embedded/data-dir.ts";
import type { LockSettings } from "#embedded/data-dir-lock.ts";
import { publishEndpoints } from "#embedded/endpoints.ts";
import { withoutCredentials } from "#embedded/running.ts";
import { createDeparture } from "#kernel/departure.ts";
import { inTime } from "#kernel/in-time.ts";
import type { Log } from "#kernel/log.ts";
import { requireHealth } from "#kernel/restate-address.ts";
import { unlessAborted } from "#kernel/unless-aborted.ts";
import { createRegistry } from "#metrics/registry.ts";
import { readActorKey } from "./actor-key.ts";
import { startAnalytics } from "./analytics.ts";
import { startApi } from "./api.ts";
import type { Base } from "./base.ts";
import { createConsoleLinks } from "./console-links.ts";
import { startControl } from "./control.ts";
import { startDatabase, startRestateServer } from "./data.ts";
import { createDefinitions, readGiven } from "./definitions.ts";
import { type Metrics, startMetrics } from "./metrics.ts";
import { createMonitor } from "./monitor.ts";
import { createMissingOfJob } from "./own-jobs.ts";
import { refuseSettings } from "./refusals.ts";
import { startRestateFront } from "./restate-front.ts";
import { createResults } from "./results.ts";
import { prepareSignIn, prepareTickets } from "./sign-in.ts";
import { createStops, type Stops } from "./stops.ts";
import { startWorker } from "./worker.ts";

/** The roles of a process; on a laptop one process has all (docs/architecture.md, "The parts"). */
export const roles = ["worker", "control", "api"] as const;
export type Role = (typeof roles)[number];

export type App = {
  endpoints: Endpoints;
  dataDir: string;
  /**
   * A ticket that signs in at the console once; undefined: there is no console here, people sign in at an identity
   * provider, or Postgres does not answer.
   */
  issueTicket: () => Promise<string | undefined>;
  stop: () => Promise<void>;
  /** Resolves with the reason when the program has failed and must be stopped. */
  failed: Promise<Error>;
};

type Start = {
  roles: Role[];
  log: Log;
  /** Aborts the start, which then throws the signal's reason. */
  signal?: AbortSignal;
};

/** How long to wait for the running step of an aborted start. */
const abortWithinMs = 5_000;

/**
 * Starts the roles, and the embedded servers that no URL replaces. When a part fails to start, the parts
 * before it are stopped and its error is thrown.
 */
export async function startApp(config: Config, of: Start): Promise<App> {
  refuseSettings(config, of.roles);
  const failure = Promise.withResolvers<Error>();
  const start = { ...of, signal: abortedBy(failure.promise, of.signal) };
  const stops = createStops(of.log, start.signal);
  // Released last: parts that are still stopping may write to the data directory.
  const lock = createStops(of.log, start.signal);
  const starting = startAll(config, start, { stops, lock, failure });
  try {
    return await unlessAborted(starting, start.signal);
  } catch (error) {
    await stops.run();
    // The step that was running when the start was aborted may add a part until it ends.
    const aborting = () => starting.then(() => {});
    await inTime(aborting, { limitMs: abortWithinMs, otherwise: undefined });
    await stops.run();
    await lock.run();
    throw error;
  }
}

/** Also aborted when the program fails, with its error, because a start may take minutes. */
function abortedBy(failed: Promise<Error>, stopping: AbortSignal | undefined): AbortSignal {
  const failing = new AbortController();
  void failed.then((error) => failing.abort(error));
  return stopping === undefined ? failing.signal : AbortSignal.any([stopping, failing.signal]);
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
  const departure = createDeparture(failure.promise);
  const base: Base = {
    config,
    log: of.log,
    dataDir: dataDir.path,
    credentials,
    registry,
    departure,
    fail: failure.resolve,
  };
  const metrics = await startMetrics(base, stops);
  const { endpoints, issueTicket } = await startParts(base, of.roles, { metrics, stops });
  stops.add("endpoints", publishEndpoints(dataDir.path, endpoints));
  metrics.noteStarted();
  // A failed program skips the delay: another process may have taken over its work already.
  const stop = () =>
    departure.announce(config.shutdown_delay_seconds).then(stops.run).then(lock.run);
  return { endpoints, dataDir: dataDir.path, issueTicket, stop, failed: failure.promise };
}

function lockSettings({ data_dir }: Config, log: Log, fail: (reason: Error) => void): LockSettings {
  return {
    onWatch: (watchMs) =>
      log.info(
        { data_dir, ms: watchMs },
        "checking whether another container uses the data directory",
      ),
    onLost: () => fail(new Error(`another program has taken data_dir ${data_dir}`)),
  };
}

/** Secrets of the settings override generated ones. */
function withSettings(credentials: Credentials, config: Config): Credentials {
  return {
    ...credentials,
    ingress_token: config.control.ingress_token || credentials.ingress_token,
    root_key: config.api.root_key || credentials.root_key,
  };
}

type AppParts = Pick<App, "endpoints" | "issueTicket">;

async function startParts(
  base: Base,
  wanted: Role[],
  { metrics, stops }: { metrics: Metrics; stops: Stops },
): Promise<AppParts> {
  // Read first: a fault in the file is found before anything but the metrics port runs.
  const given = wanted.includes("worker") ? await readGiven(base.config) : undefined;
  const { database, databaseUrl, directUrl } = await startDatabase(base, {
    roles: wanted,
    stops,
  });
  metrics.watch({ name: "postgres", ask: () => database.query("SELECT 1") });
  const servesApi = wanted.includes("api");
  const missingOfJob = createMissingOfJob(base.config, { servesApi });
  const definitions = createDefinitions(base, { database, given, missingOfJob });
  const results = createResults({ ...base, database, ...definitions });
  const analytics = await startAnalytics(base, { servesApi, stops });
  const api = servesApi
    ? await startApi(base, { analytics, database, databaseUrl, directUrl, stops })
    : undefined;
  const monitor = createMonitor(base, { database, databaseUrl, results, apiUrl: api, stops });
  const links = createConsoleLinks(base.config);
  const parts = { database, missingOfJob, definitions, results, monitor, links, metrics, stops };
  // A process that serves the public API only doesn't use Restate.
  const durable = wanted.some((role) => role !== "api")
    ? await startDurable(base, wanted, { ...parts, analytics, apiUrl: api })
    : { addresses: {}, issueTicket: async () => undefined };
  const endpoints = {
    ...(api !== undefined && { api }),
    ...durable.addresses,
    metrics: metrics.url,
    ...(base.config.database.url === "" && { database: withoutCredentials(databaseUrl) }),
    pid: process.pid,
  };
  return { endpoints, issueTicket: durable.issueTicket };
}

type DurableParts = Omit<Parameters<typeof startWorker>[1], keyof RestateServer | "actorKey"> & {
  metrics: Metrics;
};
type RestateServer = Awaited<ReturnType<typeof startRestateServer>>;

/** Starts Restate and the roles that use it. */
async function startDurable(base: Base, wanted: Role[], parts: DurableParts) {
  const restate = await startRestateServer(base, parts.stops);
  parts.metrics.watch({ name: "restate", ask: () => requireHealth(restate.ingressUrl) });
  const actorKey = await readActorKey(parts.database);
  const logouts = createLogouts(parts.database, base.log);
  const signIn = prepareSignIn(base, { ...parts, actorKey, logouts });
  const tickets = prepareTickets(base, { ...parts, actorKey });
  const shared = { ...parts, ...restate, actorKey, logouts, tickets, signIn };
  const { addresses, close } = await startRestateFront(base, shared);
  const worker = wanted.includes("worker") ? await startWorker(base, shared) : undefined;
  // Stopped before the worker, so that the worker can still answer calls in flight.
  parts.stops.add("Restate's addresses", close);
  const control = wanted.includes("control") ? await startControl(base, shared) : undefined;
  const signsIn = control !== undefined && signIn === undefined;
  return {
    addresses: {
      ...(control !== undefined && { control }),
      ...(worker !== undefined && { worker }),
      ...addresses,
    },
    issueTicket: signsIn ? tickets.issue : async () => undefined,
  };
}
