/** Wires the fleets: each one's driver and list, and how its sentinels are deployed. */
import path from "node:path";
import { countersSourceOf } from "#fleet/config.ts";
import { defaultFleet, qualifiedId } from "#fleet/contract.ts";
import { createReadByQueries } from "#fleet/counters/prometheus.ts";
import { type ReadCounters, startRecorder } from "#fleet/counters/recorder.ts";
import { type CountStore, createCountStore } from "#fleet/counters/store.ts";
import { createDeployer } from "#fleet/deploys/deployer.ts";
import type { Deploying } from "#fleet/deploys/service.ts";
import type { Driver } from "#fleet/drivers/driver.ts";
import { driverOfFleet, drivers } from "#fleet/drivers/index.ts";
import { createListMetrics, createListStore } from "#fleet/list-store.ts";
import { createFleetListing, type FleetListing } from "#fleet/listing.ts";
import { createLogBudget } from "#fleet/logs/budget.ts";
import type { FleetLogs } from "#fleet/logs/read.ts";
import { createLogStore, createSaveLog } from "#fleet/logs/store.ts";
import { createCountDeploys, exposeMembers } from "#fleet/metrics.ts";
import { createFleetStore, type FleetStore } from "#fleet/store.ts";
import { httpUrl } from "#kernel/address.ts";
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { createFindCredential, type UselessEntry } from "#registry/credentials.ts";
import { createQueryByLabel } from "#rollout/gates/query-prometheus.ts";
import type { Base } from "./base.ts";
import { type Fleet, type FleetWithLogins, fleetsOf, prometheusOf } from "./fleets.ts";
import { startSentinelKey } from "./own-keys.ts";
import type { Stops } from "./stops.ts";

/** A start waits so long for the first list of each fleet. */
const firstListMs = 2_000;

export type RunningFleet = FleetWithLogins &
  Deploying & { listing: FleetListing; logs: FleetLogs; hasCounters: boolean };

export type RunningFleets = {
  store: FleetStore;
  readCounts: CountStore["read"];
  fleets: RunningFleet[];
  /** Resolves once every fleet that answers at once has been listed. */
  listed: Promise<unknown>;
  /** Begins the sentinels of this machine, for when everything else is ready: each takes a processor for a while. */
  populate: () => void;
};

type FleetParts = {
  database: Database;
  /** Address of this process's API; undefined: another process serves it, at the address of the settings. */
  apiUrl: string | undefined;
  stops: Stops;
};

export async function startFleets(base: Base, parts: FleetParts): Promise<RunningFleets> {
  const { config, registry, log } = base;
  const { database, stops } = parts;
  const logs = createLogStore(database);
  const store = createFleetStore(database);
  const counts = createCountStore(database);
  const settings = fleetsOf(config);
  const names = settings.map(({ name }) => name);
  exposeMembers(database, { fleets: names, registry });
  const metrics = {
    ofList: createListMetrics(registry),
    countDeploys: createCountDeploys(registry),
  };
  const needsKey = settings.some(({ fleet }) => fleet.driver === "process");
  const rootKey = needsKey ? await startSentinelKey(base, database) : "";
  const fleets: RunningFleet[] = [];
  const populating: (() => Promise<unknown>)[] = [];
  const listed: Promise<unknown>[] = [];
  for (const one of readLogins(settings, log)) {
    const driver = createDriver(base, one, { apiUrl: parts.apiUrl, rootKey, names });
    stops.add(`fleet driver ${one.name}`, driver.stop);
    await driver.start();
    const { log_lines: lines } = one.fleet;
    const keepLog = createSaveLog({ driver, store: logs, budget: createLogBudget(), lines, log });
    const read = countersOf(one, driver);
    const running = {
      ...one,
      hasCounters: read !== undefined,
      listing: createListing(base, one, { database, driver, metrics: metrics.ofList(one.name) }),
      deployer: metrics.countDeploys(one.name, createDeployer(driver, store, keepLog)),
      logs: { name: one.name, driver, lines },
      deployTimeoutMs: one.fleet.deploy_timeout_seconds * 1_000,
    };
    fleets.push(running);
    if (read !== undefined) {
      const recorder = startRecorder({
        fleet: one.name,
        store: counts,
        read,
        log: namedLog(one, log),
      });
      stops.add(`counters ${one.name}`, recorder.stop);
    }
    const { populate } = driver;
    const isLocal = populate !== undefined;
    const { first } = await startListing(running, { isLocal, stops });
    listed.push(first);
    // A second list, when all serve. One that fails is repeated by the regular ones.
    if (isLocal) populating.push(() => populate().then(running.listing.list));
  }
  const populate = () => {
    for (const begin of populating) begin().catch(() => {});
  };
  return { store, readCounts: counts.read, fleets, listed: Promise.all(listed), populate };
}

/** Returns how a fleet's counters are read; undefined: nobody can, whatever the setting is. */
export function countersOf(
  { name, fleet, rollout }: Pick<Fleet, "name" | "fleet" | "rollout">,
  driver: Pick<Driver, "readCounters">,
): ReadCounters | undefined {
  const source = countersSourceOf(fleet);
  if (source === "fleet") return driver.readCounters;
  const server = prometheusOf(rollout);
  if (source === "off" || server === undefined) return undefined;
  const query = createQueryByLabel(server);
  return createReadByQueries(fleet.counters, { query, idOf: (id) => qualifiedId(name, id) });
}

/** Logs each unusable key once, however many fleets have the same file. */
function readLogins(fleets: readonly Fleet[], log: Log): FleetWithLogins[] {
  const named = new Set<string>();
  const onUseless = (useless: UselessEntry) => {
    const text = JSON.stringify(useless);
    if (!named.has(text)) log.warn(useless, "an entry of registry.docker_config cannot be used");
    named.add(text);
  };
  return fleets.map((one) => {
    return { ...one, findCredential: createFindCredential(process.env, one.registry, onUseless) };
  });
}

type DriverParts = { apiUrl: string | undefined; rootKey: string; names: readonly string[] };

function createDriver(
  base: Base,
  { name, fleet, findCredential }: FleetWithLogins,
  { apiUrl, rootKey, names }: DriverParts,
): Driver {
  const { config, log } = base;
  const driver = drivers[fleet.driver]({
    fleet,
    dataDir: name === defaultFleet ? base.dataDir : path.join(base.dataDir, "fleets", name),
    apiUrl: apiUrl ?? httpUrl(config.api),
    rootKey,
    findCredential,
    log: namedLog({ name }, log),
  });
  return driverOfFleet(driver, { fleet: name, fleets: names });
}

function createListing(
  { log }: Base,
  { name, fleet }: Fleet,
  parts: {
    database: Database;
    driver: Driver;
    metrics: Parameters<typeof createFleetListing>[0]["metrics"];
  },
) {
  const { driver, list_max_missing_percent: limit = driver === "process" ? 100 : 49 } = fleet;
  const store = createListStore(parts.database, {
    fleet: name,
    maxMissingPercent: limit,
    keepsLogs: fleet.log_lines > 0,
  });
  return createFleetListing({ ...parts, store, log: namedLog({ name }, log) });
}

/** The log whose lines name the fleet, unless it is the default one. */
function namedLog({ name }: Pick<Fleet, "name">, log: Log): Log {
  return name === defaultFleet ? log : log.child({ fleet: name });
}

/**
 * Lists the fleet in the background, so that everything else works while the fleet's API is down. A fleet that
 * answers at once is known before the program reports that it is ready. One on this machine is listed when it
 * serves, and so is not waited for where an earlier start has listed it.
 */
async function startListing(
  { name, fleet, listing }: RunningFleet,
  { isLocal, stops }: { isLocal: boolean; stops: Stops },
): Promise<{ first: Promise<void> }> {
  const isKnown = isLocal && (await listing.isKnown());
  const refresh = listing.refreshEvery(fleet.list_every_seconds * 1_000);
  stops.add(`fleet listing ${name}`, refresh.stop);
  const limitMs = isKnown ? 0 : firstListMs;
  return { first: inTime(() => refresh.first, { limitMs, otherwise: undefined }) };
}
