/** Starts and stops the program. Postgres first: the parts' code (`parts.ts`) is loaded meanwhile, which takes as long. */
import type { Config } from "#config.ts";
import type { Credentials } from "#embedded/contract.ts";
import { loadCredentials } from "#embedded/credentials.ts";
import { type LockSettings, openDataDir } from "#embedded/data-dir-lock.ts";
import { publishEndpoints } from "#embedded/running.ts";
import { inTime, unlessAborted } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { serviceAt } from "#kernel/reach.ts";
import { createRegistry } from "#metrics/server.ts";
import { type Base, createDeparture, type Role, startTracing } from "./base.ts";
import { startMetrics } from "./metrics.ts";
import { servicesOf } from "./own-services.ts";
import type { Parts } from "./parts.ts";
import { refuseSettings } from "./refusals.ts";
import { startServers } from "./servers.ts";
import { createStops, type Stops } from "./stops.ts";

export type App = Omit<Parts, "populate"> & {
  dataDir: string;
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

/** Limit of the wait for the running step of an aborted start. */
const abortWithinMs = 5_000;

/** Starts the roles and embedded servers. When a part fails, those before it are stopped and its error is thrown. */
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
    // Ends what is still starting.
    failure.resolve(error as Error);
    await stops.run();
    // The step that was running when the start was aborted may add a part until it ends.
    const aborting = () => starting.then(() => {});
    await inTime(aborting, { limitMs: abortWithinMs, otherwise: undefined });
    await stops.run();
    await lock.run();
    throw error;
  }
}

/** Returns a signal that is also aborted when the program fails, with its error, because a start may take minutes. */
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
  // Stopped last but one: every other part may still have spans.
  await startTracing(of.log, lock);
  const registry = createRegistry(of.roles);
  const departure = createDeparture(failure.promise);
  const services = servicesOf(config);
  const base: Base = {
    config,
    log: of.log,
    dataDir: dataDir.path,
    credentials,
    services,
    own: (name, url) => services.push(...serviceAt(name, url)),
    registry,
    departure,
    fail: failure.resolve,
  };
  const metrics = await startMetrics(base, stops);
  base.own("metrics", metrics.url);
  const servers = startServers(base, stops);
  // Loading keeps this process busy, and so would delay what begins the server.
  await servers.launched;
  const { startParts } = await import("./parts.ts");
  const parts = await startParts(base, of.roles, { metrics, servers, stops });
  const { endpoints, issueTicket, readNobody } = parts;
  stops.add("endpoints", publishEndpoints(dataDir.path, endpoints));
  metrics.recordStart();
  parts.populate();
  // A failed program skips the delay: another process may have taken over its work already.
  const stop = () =>
    departure.announce(config.shutdown_delay_seconds).then(stops.run).then(lock.run);
  return {
    endpoints,
    dataDir: dataDir.path,
    issueTicket,
    readNobody,
    stop,
    failed: failure.promise,
  };
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
