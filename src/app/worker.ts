/** Wires the worker: the services that Restate calls. */
import path from "node:path";
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { createEventStore } from "#alerts/store.ts";
import { startSealing } from "#audit/chain.ts";
import { exposeUndelivered, startDelivery } from "#audit/deliver.ts";
import type { Config } from "#config.ts";
import { keepCron, startCron } from "#cron/internal.ts";
import type { Credentials } from "#embedded/contract.ts";
import { publicIdentity } from "#embedded/credentials.ts";
import { createSentinelService } from "#fleet/deploys/service.ts";
import { createStartDeploys } from "#fleet/deploys/start.ts";
import { createFleetService } from "#fleet/fleet-service.ts";
import { createReadLog } from "#fleet/logs/read.ts";
import { createLogStore } from "#fleet/logs/store.ts";
import { createFleetOverview } from "#fleet/overview/reader.ts";
import { type Actor, createReadActor, type ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/server.ts";
import { createTraceService } from "#kernel/trace-service.ts";
import type { MissingOfJob } from "#monitor/rules/own-jobs.ts";
import { defaultPolicy } from "#rollout/config.ts";
import { type RolloutFleet, requireOperator } from "#rollout/fleets.ts";
import type { FleetTargets, GateTargets } from "#rollout/gates/kind.ts";
import { rolloutObject } from "#rollout/internal.ts";
import { createReadDrift, createRolloutServices } from "#rollout/services.ts";
import { startAlertRoutes } from "#routing/incident/services.ts";
import { createStatusReads } from "#status/service.ts";
import { type EndpointSettings, serveOnKnownPort } from "#worker/endpoint.ts";
import { createEngineService, listTroubled } from "#worker/engine.ts";
import {
  advertisedUrlOf,
  awaitRegistered,
  codeRevision,
  registerWorker,
} from "#worker/register.ts";
import { createReleaseService } from "#worker/release.ts";
import { createRestateAdmin, type RestateAdmin, resumePaused } from "#worker/restate-admin.ts";
import { createAlertSync } from "./alert-sync.ts";
import { type Alerts, createAlerts } from "./alerts.ts";
import type { Analytics } from "./analytics.ts";
import type { Base } from "./base.ts";
import type { OwnBlame } from "./blame.ts";
import type { ConsoleLinks } from "./console-links.ts";
import { createCron } from "./cron.ts";
import type { ProgramDefinitions } from "./definitions.ts";
import { type RunningFleet, type RunningFleets, startFleets } from "./fleet.ts";
import { findUnknownChannels, prometheusOf } from "./fleets.ts";
import { createResolveImage } from "./image-gate.ts";
import type { Monitor } from "./monitor.ts";
import { readIdentityKeys } from "./refusals.ts";
import type { Results } from "./results.ts";
import type { Stops } from "./stops.ts";
import { startVersionWatch } from "./versions.ts";

/** The id that an installation's database was given when it was set up; it never changes. */
async function readInstallation(database: Database): Promise<string> {
  const { rows } = await database.query<{ id: string }>("SELECT id FROM installation");
  const [row] = rows;
  if (row === undefined) throw new Error("the table installation has lost its only row");
  return row.id;
}

type WorkerParts = {
  analytics: Analytics;
  database: Database;
  ownDatabase: Database;
  adminUrl: string;
  ingressUrl: string;
  /** Absent: Restate knows the worker by its address alone. */
  workerTls?: EndpointSettings["tls"];
  actorKey: Uint8Array;
  /** Address of this process's API; undefined: another process serves it, at the address of the settings. */
  apiUrl: string | undefined;
  missingOfJob: MissingOfJob;
  blame: OwnBlame;
  definitions: ProgramDefinitions;
  results: Results;
  monitor: Monitor;
  links: ConsoleLinks;
  stops: Stops;
};

type Worker = Pick<RunningFleets, "populate"> & { url: string };

export async function startWorker(base: Base, parts: WorkerParts): Promise<Worker> {
  const { config, log, credentials } = base;
  const { adminUrl, database, results, stops } = parts;
  stops.add("results", results.startUpkeep().stop);
  stops.add("audit log", startSealing(parts.ownDatabase, log, config.audit.keep_days).stop);
  const fleets = await startFleets(base, parts);
  const alerts = createAlerts(base, { ...parts, readActor: createReadActor(parts.actorKey) });
  const { host, port } = config.worker;
  const serving = serveOnKnownPort(path.join(base.dataDir, "worker-port"), {
    host,
    port,
    services: createServices(base, { ...parts, ...fleets, alerts }),
    identityKeys: identityKeys(config, credentials),
    tls: parts.workerTls,
    log,
  });
  const endpoint = await listening(serving, { port, setting: "worker.port" });
  stops.add("worker", endpoint.stop);
  base.own("worker", endpoint.url);
  const workerUrl = advertisedUrlOf(config.worker) || endpoint.url;
  const revision = codeRevision();
  const installation = await readInstallation(database);
  const registration = { adminUrl, workerUrl, revision, installation };
  const isOurs = config.worker.register === "start";
  const takeBack = async () => isOurs && (await registerWorker(registration));
  const hasTakenBack = await takeBack();
  if (hasTakenBack) log.warn({ revision }, "this version serves again, in place of a later one");
  if (!isOurs) await awaitRegistered(registration, { log, signal: stops.signal });
  await resumePaused(createRestateAdmin(adminUrl), log);
  const { channel } = config.audit;
  const deliveryOfAudit = { channel, send: alerts.sendRecords, log };
  exposeUndelivered(parts.ownDatabase, base.registry);
  stops.add("audit delivery", startDelivery(parts.ownDatabase, deliveryOfAudit).stop);
  alerts.delivery.start();
  stops.add("alert delivery", alerts.delivery.stop);
  const { ingressUrl } = parts;
  const versions = startVersionWatch(base, { adminUrl, ingressUrl, revision, takeBack });
  stops.add("version watch", versions.stop);
  stops.add("cron upkeep", keepCron(ingressUrl, log).stop);
  await allStarted([
    startCron(ingressUrl),
    startAlertRoutes(ingressUrl),
    startChecks(base, { ...parts, alerts }),
    fleets.listed,
  ]);
  return { url: endpoint.url, populate: fleets.populate };
}

/** Waits for all, so that none still starts when another has failed and everything is stopped. */
async function allStarted(starts: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(starts)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

type CheckParts = WorkerParts & { alerts: Alerts };

async function startChecks({ config, log }: Base, parts: CheckParts): Promise<void> {
  const { definitions, monitor, ingressUrl, alerts } = parts;
  await definitions.start(ingressUrl, monitor);
  const rows = await definitions.readChannels({ isFresh: true });
  for (const { message } of findUnknownChannels(config, rows)) {
    log.warn({ detail: message }, "a setting names a channel that is not there");
  }
  const { delivery, sendNow } = alerts;
  await monitor.start(ingressUrl, { wake: delivery.wake, sendNow });
}

/** The keys by which the worker verifies calls: of the embedded Restate, or of the external one. */
function identityKeys({ restate }: Config, credentials: Credentials): string[] {
  if (restate.ingress_url === "") return [publicIdentity(credentials)];
  return readIdentityKeys({ restate });
}

async function readGateTargets(
  { readDefinitions, whyOff }: Results,
  { readRows }: Pick<ProgramDefinitions, "readRows">,
  how: { orKnown?: boolean } = {},
): Promise<Omit<GateTargets, keyof FleetTargets>> {
  // Whoever has just applied a gate may name it.
  const newest = { isFresh: true, ...how };
  const reads = [readRows(newest), readDefinitions(newest)] as const;
  const [{ channels, gates }, { apiChecks }] = await Promise.all(reads);
  const checks = new Map(apiChecks.map((check) => [check.id, check]));
  return {
    known: [...checks.keys()],
    webhooks: channels.flatMap(({ id, kind }) => (kind === "webhook" ? id : [])),
    rows: gates,
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
  | "blame"
  | "database"
  | "definitions"
  | "missingOfJob"
  | "results"
  | "monitor"
  | "links"
> &
  Omit<RunningFleets, "listed" | "populate"> & { alerts: Alerts };

export function createServices(base: Base, parts: ServiceParts): EndpointOptions["services"] {
  const { store, fleets, database, results } = parts;
  const admin = createRestateAdmin(parts.adminUrl);
  const readActor = createReadActor(parts.actorKey);
  const endInvocations = (ids: readonly string[]) => admin.change("kill", ids);
  return [
    ...createFleetServices(parts, { admin, readActor }),
    results.reads,
    ...parts.definitions.createService(readActor, parts.monitor),
    ...parts.monitor.createServices(readActor),
    createReleaseService(endInvocations),
    createEngineService(admin),
    createTraceService(),
    ...parts.alerts.services,
    ...createAlertSync(base, { ...parts, readActor }),
    ...createCron(base, { ...parts, readActor }),
    ...createRolloutServices({
      fleets: fleets.map((one) => toRolloutFleet(base, one)),
      readMembers: store.members,
      orders: store,
      startDeploys: createStartDeploys(byName(fleets, (one) => one)),
      findOrdered: store.findOrdered,
      readGateTargets: (how) => readGateTargets(results, parts.definitions, how),
      gateTools: { readChecks: results.readGate, askWebhook: parts.alerts.askWebhook },
      readCounts: parts.readCounts,
      readRuns: results.readRuns,
      explainPause: parts.blame.explainPause,
      database,
      registry: base.registry,
      endInvocations,
      actorKey: parts.actorKey,
    }),
  ];
}

function createFleetServices(
  { store, fleets, database, results }: ServiceParts,
  { admin, readActor }: { admin: RestateAdmin; readActor: ReadActor },
): EndpointOptions["services"] {
  return [
    createSentinelService({ fleets: byName(fleets, (one) => one), store }),
    createFleetService({
      store,
      listings: byName(fleets, ({ listing }) => listing),
      readLog: createReadLog({
        store: createLogStore(database),
        fleets: byName(fleets, ({ logs }) => logs),
      }),
      readDrift: createReadDrift(
        database,
        (name) => fleets.find((one) => one.name === name)?.fleet.on_drift ?? "report",
      ),
      readActor,
      requireOperator: (actor, fleet) => requireOperatorOf(fleets, actor, fleet),
    }),
    createStatusReads({
      fleets: fleets.map(({ name }) => name),
      readRollout: (ctx, fleet) => ctx.client(rolloutObject, fleet).Status({}),
      readFleet: createFleetOverview(database),
      readChecks: results.viewChecks,
      listEvents: createEventStore(database).list,
      listTroubled: () => listTroubled(admin),
      nowMs: Date.now,
    }),
  ];
}

function byName<Value>(
  fleets: readonly RunningFleet[],
  read: (one: RunningFleet) => Value,
): Map<string, Value> {
  return new Map(fleets.map((one) => [one.name, read(one)]));
}

function requireOperatorOf(fleets: readonly RunningFleet[], actor: Actor, name: string): void {
  const fleet = fleets.find((one) => one.name === name);
  if (fleet !== undefined) requireOperator(actor, fleet);
}

function toRolloutFleet(base: Base, one: RunningFleet): RolloutFleet {
  const { name, rollout, listing, deployTimeoutMs, operators } = one;
  const prometheus = prometheusOf(rollout);
  return {
    name,
    listFleet: listing.list,
    readProblem: listing.problem,
    resolveImage: createResolveImage(base, one),
    policy: defaultPolicy(rollout),
    maxParallel: rollout.max_parallel,
    onDrift: one.fleet.on_drift,
    // Three regular lists may fail, and a large fleet takes its time.
    listMaxAgeMs: 3 * one.fleet.list_every_seconds * 1_000 + 300_000,
    deployTimeoutMs,
    operators,
    ...(prometheus !== undefined && { prometheus }),
    hasCounters: one.hasCounters,
  };
}
