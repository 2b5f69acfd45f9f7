/** Wires the worker: the services that Restate calls. */
import path from "node:path";
import type { EndpointOptions } from "@restatedev/restate-sdk";
import type { Config } from "#config.ts";
import { keepCron, startCron } from "#cron/start.ts";
import type { Credentials } from "#embedded/contract.ts";
import { publicIdentity } from "#embedded/credentials.ts";
import { countDeploys } from "#fleet/deploy-metrics.ts";
import { createDeployer } from "#fleet/deployer.ts";
import type { Driver } from "#fleet/drivers/driver.ts";
import { drivers } from "#fleet/drivers/index.ts";
import { createFleetService } from "#fleet/fleet-service.ts";
import { createListMetrics } from "#fleet/list-metrics.ts";
import { createListStore } from "#fleet/list-store.ts";
import { createFleetListing, type FleetListing } from "#fleet/listing.ts";
import { showMembers } from "#fleet/member-metrics.ts";
import { createSentinelService } from "#fleet/service.ts";
import type { FleetStore } from "#fleet/store.ts";
import { createFleetStore } from "#fleet/store.ts";
import { createReadActor } from "#kernel/actor.ts";
import { httpUrl } from "#kernel/address.ts";
import type { Database } from "#kernel/database.ts";
import { inTime } from "#kernel/in-time.ts";
import { readInstallation } from "#kernel/installation.ts";
import { listening } from "#kernel/listen.ts";
import type { MissingOfJob } from "#monitor/rules/own-jobs.ts";
import { createChatChannel } from "#notify/chat-channel.ts";
import { createChatLog } from "#notify/chat-log.ts";
import { createFindCredential } from "#registry/credentials.ts";
import { defaultPolicy } from "#rollout/config.ts";
import type { GateChecks } from "#rollout/rules/gate-checks.ts";
import { createRolloutServices } from "#rollout/services.ts";
import { startAlertRoutes } from "#routing/incident/start.ts";
import { serveOnKnownPort } from "#worker/known-port.ts";
import { codeRevision, registerWorker } from "#worker/register.ts";
import { createReleaseService } from "#worker/release.ts";
import { createRestateAdmin } from "#worker/restate-admin.ts";
import { resumePaused } from "#worker/resume.ts";
import { createAlertSync } from "./alert-sync.ts";
import { createAlerts } from "./alerts.ts";
import type { Analytics } from "./analytics.ts";
import type { Base } from "./base.ts";
import type { ConsoleLinks } from "./console-links.ts";
import { createCron } from "./cron.ts";
import type { ProgramDefinitions } from "./definitions.ts";
import { createResolveImage } from "./image-gate.ts";
import type { Monitor } from "./monitor.ts";
import { startSentinelKey } from "./own-keys.ts";
import type { Results } from "./results.ts";
import type { Stops } from "./stops.ts";
import { createRenewal } from "./tls.ts";
import { readIdentityKeys } from "./unsigned-worker.ts";
import { startVersionWatch } from "./versions.ts";

/** How long a start waits for the first list of the fleet. */
const firstListMs = 2_000;

type WorkerParts = {
  analytics: Analytics;
  database: Database;
  adminUrl: string;
  ingressUrl: string;
  actorKey: Uint8Array;
  /** Of this process; undefined: another process serves the API, at the address of the settings. */
  apiUrl: string | undefined;
  missingOfJob: MissingOfJob;
  definitions: ProgramDefinitions;
  results: Results;
  monitor: Monitor;
  links: ConsoleLinks;
  stops: Stops;
};

export async function startWorker(base: Base, parts: WorkerParts): Promise<string> {
  const { config, log, credentials } = base;
  const { adminUrl, database, results, stops } = parts;
  stops.add("results", results.startUpkeep().stop);
  const store = createFleetStore(database);
  showMembers(database, base.registry);
  const driver = await createDriver(base, parts);
  stops.add("fleet driver", driver.stop);
  await driver.start();
  const listing = createListing(base, { database, driver });
  await startListing(base, listing, stops);
  const { host, port } = config.worker;
  const serving = serveOnKnownPort(path.join(base.dataDir, "worker-port"), {
    host,
    port,
    services: createServices(base, { ...parts, store, driver, listing }),
    identityKeys: identityKeys(config, credentials),
    log,
  });
  const endpoint = await listening(serving, { port, setting: "worker.port" });
  stops.add("worker", endpoint.stop);
  const workerUrl = config.worker.advertised_url || endpoint.url;
  const revision = codeRevision();
  const installation = await readInstallation(database);
  await registerWorker({ adminUrl, workerUrl, revision, installation });
  await resumePaused(createRestateAdmin(adminUrl), log);
  const { ingressUrl } = parts;
  const versions = startVersionWatch(base, { adminUrl, ingressUrl, revision });
  stops.add("version watch", versions.stop);
  await startCron(ingressUrl);
  stops.add("cron upkeep", keepCron(ingressUrl, log).stop);
  await startAlertRoutes(parts.ingressUrl);
  await parts.definitions.start(parts.ingressUrl);
  await parts.monitor.start(parts.ingressUrl);
  return endpoint.url;
}

function createListing(
  { config, registry, log }: Base,
  parts: Pick<ServiceParts, "database" | "driver">,
) {
  const { driver, list_max_missing_percent: limit = driver === "process" ? 100 : 49 } =
    config.fleet;
  const store = createListStore(parts.database, limit);
  return createFleetListing({ ...parts, store, metrics: createListMetrics(registry), log });
}

/**
 * Lists the fleet in the background, so that everything else works while the fleet's API is down. A fleet that
 * answers at once is known before the program reports that it is ready.
 */
async function startListing({ config }: Base, listing: FleetListing, stops: Stops): Promise<void> {
  const refresh = listing.refreshEvery(config.fleet.list_every_seconds * 1_000);
  stops.add("fleet listing", refresh.stop);
  await inTime(() => refresh.first, { limitMs: firstListMs, otherwise: undefined });
}

/** The keys by which the worker verifies calls: of the embedded Restate, or of the external one. */
function identityKeys({ restate }: Config, credentials: Credentials): string[] {
  if (restate.ingress_url === "") return [publicIdentity(credentials)];
  return readIdentityKeys({ restate });
}

async function createDriver(base: Base, parts: WorkerParts): Promise<Driver> {
  const { config, dataDir, log } = base;
  const { fleet, api } = config;
  const apiUrl = parts.apiUrl ?? httpUrl(api);
  const rootKey = fleet.driver === "process" ? await startSentinelKey(base, parts.database) : "";
  const findCredential = createFindCredential(process.env, config.registry);
  return drivers[fleet.driver]({ fleet, dataDir, apiUrl, rootKey, findCredential, log });
}

async function readGateChecks({ readDefinitions, whyOff }: Results): Promise<GateChecks> {
  const { apiChecks } = await readDefinitions();
  const checks = new Map(apiChecks.map((check) => [check.id, check]));
  return {
    known: [...checks.keys()],
    whyOff: (id) => {
      const check = checks.get(id);
      return check === undefined ? [] : whyOff(check);
    },
  };
}

type ServiceParts = Pick<
  WorkerParts,
  | "actorKey"
  | "analytics"
  | "adminUrl"
  | "database"
  | "definitions"
  | "missingOfJob"
  | "results"
  | "monitor"
  | "links"
> & {
  store: FleetStore;
  driver: Driver;
  listing: FleetListing;
};

function createServices(base: Base, parts: ServiceParts): EndpointOptions["services"] {
  const { config, registry } = base;
  const { analytics, store, driver, listing, database, results } = parts;
  const deployTimeoutMs = config.fleet.deploy_timeout_seconds * 1_000;
  const admin = createRestateAdmin(parts.adminUrl);
  const readActor = createReadActor(parts.actorKey);
  const endInvocations = (ids: readonly string[]) => admin.change("kill", ids);
  return [
    createSentinelService({
      deployer: countDeploys(createDeployer(driver, store), registry),
      deployTimeoutMs,
    }),
    createFleetService({ store, listing, readActor }),
    results.reads,
    ...parts.definitions.createService(readActor),
    ...parts.monitor.createServices(readActor),
    createChatChannel({
      webhookUrlOf: (channel) => config.slack[`${channel}_webhook_url`],
      spacingMs: config.slack.message_spacing_ms,
      keepsLog: true,
    }),
    createChatLog(database),
    createReleaseService(endInvocations),
    ...createAlerts({
      config,
      database,
      registry,
      readActor,
      results,
      links: parts.links,
      definitions: parts.definitions,
    }),
    ...createAlertSync({
      config,
      database,
      registry,
      readActor,
      readRows: parts.definitions.readRows,
    }),
    ...createCron({
      config,
      database,
      registry,
      readActor,
      readRows: parts.definitions.readRows,
      store: analytics.reading?.store,
      missingOfJob: parts.missingOfJob,
      renewCertificate: createRenewal(base, database),
    }),
    ...createRolloutServices({
      listFleet: listing.list,
      readMembers: store.members,
      orders: store,
      policy: defaultPolicy(config.rollout),
      resolveImage: createResolveImage(base),
      readGateChecks: () => readGateChecks(results),
      readChecks: results.readGate,
      database,
      registry,
      endInvocations,
      actorKey: parts.actorKey,
      maxParallel: config.rollout.max_parallel,
      deployTimeoutMs,
    }),
  ];
}
