/** Wires the program: which parts there are, in which order they start, and what each is given. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { EndpointOptions } from "@restatedev/restate-sdk";
import type { Registry } from "prom-client";
import type { Recorder } from "#api/analytics/recorder.ts";
import { createApi } from "#api/api.ts";
import { closeGracefully } from "#api/close.ts";
import { listenForInvalidations } from "#api/invalidation.ts";
import { createKeyRing } from "#api/keys/key-ring.ts";
import { startLimiter } from "#api/ratelimit/start-limiter.ts";
import { ensureRootKey } from "#api/root-key.ts";
import { createControl } from "#control/control.ts";
import { startCron } from "#cron/start.ts";
import type { Credentials, Endpoints } from "#embedded/contract.ts";
import { loadCredentials, publicIdentity, writeIdentityKey } from "#embedded/credentials.ts";
import { openDataDir } from "#embedded/data-dir.ts";
import { publishEndpoints } from "#embedded/endpoints.ts";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { withoutCredentials } from "#embedded/running.ts";
import { createDeployer } from "#fleet/deployer.ts";
import type { Driver } from "#fleet/drivers/driver.ts";
import { drivers } from "#fleet/drivers/index.ts";
import { createFleetService, createSentinelService } from "#fleet/service.ts";
import { createFleetStore, type FleetStore } from "#fleet/store.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { listening } from "#kernel/listen.ts";
import type { Log } from "#kernel/log.ts";
import { startProber } from "#metrics/prober.ts";
import { createRegistry } from "#metrics/registry.ts";
import { createMetricsServer } from "#metrics/server.ts";
import { createChatChannel } from "#notify/chat-channel.ts";
import { createChatLog } from "#notify/chat-log.ts";
import { createFindCredential } from "#registry/credentials.ts";
import { createPinImage } from "#registry/pin.ts";
import { createRolloutServices } from "#rollout/services.ts";
import { serveOnKnownPort } from "#worker/known-port.ts";
import { codeRevision, registerWorker } from "#worker/register.ts";
import { createCron } from "./app-cron.ts";
import { createResults, type Results } from "./app-results.ts";
import type { Config } from "./config.ts";

/** What one process can be; a laptop is all of them (design, section 1). */
export const roles = ["worker", "control", "api"] as const;
export type Role = (typeof roles)[number];

export type App = { endpoints: Endpoints; dataDir: string; stop: () => Promise<void> };

type Stop = () => unknown;

type Base = {
  config: Config;
  log: Log;
  dataDir: string;
  credentials: Credentials;
  /** Every part adds its own numbers to it. */
  registry: Registry;
};

/**
 * Starts the roles, and the embedded servers that no URL replaces. When a part does not start,
 * those before it are stopped again and its error is thrown.
 */
export async function startApp(config: Config, of: { roles: Role[]; log: Log }): Promise<App> {
  const stops: Stop[] = [];
  const stop = async () => {
    for (const stopPart of stops.splice(0).reverse()) {
      // One part that does not stop well must not leave the others running.
      await Promise.try(stopPart).catch((err) => of.log.error({ err }, "part not stopped"));
    }
  };
  try {
    const dataDir = openDataDir(config.data_dir);
    stops.push(dataDir.release);
    const credentials = withSettings(loadCredentials(dataDir.path), config);
    const registry = createRegistry(of.roles);
    const base: Base = { config, log: of.log, dataDir: dataDir.path, credentials, registry };
    const endpoints = await startParts(base, of.roles, stops);
    stops.push(publishEndpoints(dataDir.path, endpoints));
    return { endpoints, dataDir: dataDir.path, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What the operator has set stands over what was generated. */
function withSettings(credentials: Credentials, config: Config): Credentials {
  return {
    ...credentials,
    ingress_token: config.control.ingress_token || credentials.ingress_token,
    root_key: config.api.root_key || credentials.root_key,
  };
}

async function startParts(base: Base, wanted: Role[], stops: Stop[]): Promise<Endpoints> {
  const metrics = await startMetrics(base, stops);
  const { database, databaseUrl } = await startDatabase(base, stops);
  startProbing(base, database, stops);
  const results = createResults({ ...base, database });
  const api = wanted.includes("api")
    ? await startApi(base, { database, databaseUrl, stops })
    : undefined;
  const restate = await startRestateServer(base, stops);
  const worker = wanted.includes("worker")
    ? await startWorker(base, { database, ...restate, apiUrl: api, results, stops })
    : undefined;
  const control = wanted.includes("control")
    ? await startControl(base, { ingressUrl: restate.ingressUrl, results, stops })
    : undefined;
  return {
    ...(api !== undefined && { api }),
    ...(control !== undefined && { control }),
    ...(worker !== undefined && { worker }),
    restate_ingress: restate.ingressUrl,
    restate_admin: restate.adminUrl,
    metrics,
    ...(base.config.database.url === "" && { database: withoutCredentials(databaseUrl) }),
    pid: process.pid,
  };
}

type ApiDatabase = { database: Database; databaseUrl: string };

async function startDatabase(base: Base, stops: Stop[]): Promise<ApiDatabase> {
  const { config, log, dataDir, credentials } = base;
  let { url } = config.database;
  if (url === "") {
    const { port } = config.database;
    const password = credentials.database_password;
    const server = await startPostgres({ dataDir, port, password, log });
    stops.push(server.stop);
    url = server.url;
  }
  await migrate(url, log);
  const database = openDatabase(url, log);
  stops.push(() => database.end());
  return { database, databaseUrl: url };
}

async function startRestateServer(base: Base, stops: Stop[]) {
  const { config, log, dataDir, credentials } = base;
  const { ingress_url, admin_url, ingress_port, admin_port } = config.restate;
  if (ingress_url !== "") return { ingressUrl: ingress_url, adminUrl: admin_url };
  const server = await startRestate({
    dataDir,
    ingressPort: ingress_port,
    adminPort: admin_port,
    identityKeyFile: writeIdentityKey(dataDir, credentials),
    log,
  });
  stops.push(server.stop);
  return server;
}

type WorkerParts = {
  database: Database;
  adminUrl: string;
  ingressUrl: string;
  /** Of this process; undefined: another process serves the API, where the settings say. */
  apiUrl: string | undefined;
  results: Results;
  stops: Stop[];
};

async function startWorker(base: Base, parts: WorkerParts): Promise<string> {
  const { config, log, credentials } = base;
  const { adminUrl, database, results, stops } = parts;
  stops.push(results.startKeeping().stop);
  const store = createFleetStore(database);
  const driver = createDriver(base, parts.apiUrl);
  stops.push(driver.stop);
  await driver.start();
  await store.sync(await driver.list());
  const { host, port } = config.worker;
  const serving = serveOnKnownPort(path.join(base.dataDir, "worker-port"), {
    host,
    port,
    services: createServices(base, { database, store, driver, results }),
    identityKeys: identityKeys(config, credentials),
    log,
  });
  const endpoint = await listening(serving, { port, setting: "worker.port" });
  stops.push(endpoint.stop);
  const workerUrl = config.worker.advertised_url || endpoint.url;
  await registerWorker({ adminUrl, workerUrl, revision: codeRevision() });
  await startCron(parts.ingressUrl);
  return endpoint.url;
}

/** Whose signature the worker asks for: our own Restate's, or that of the one that is named. */
function identityKeys({ restate }: Config, credentials: Credentials): string[] {
  if (restate.ingress_url === "") return [publicIdentity(credentials)];
  const { identity_keys, identity_key_file: file } = restate;
  return file === "" ? identity_keys : [...identity_keys, readFileSync(file, "utf8").trim()];
}

function createDriver(base: Base, ownApiUrl: string | undefined): Driver {
  const { config, dataDir, credentials, log } = base;
  const { fleet, api } = config;
  const apiUrl = ownApiUrl ?? `http://${api.host}:${api.port}`;
  return drivers[fleet.driver]({ fleet, dataDir, apiUrl, rootKey: credentials.root_key, log });
}

type ServiceParts = { database: Database; store: FleetStore; driver: Driver; results: Results };

function createServices(base: Base, parts: ServiceParts): EndpointOptions["services"] {
  const { config, registry } = base;
  const { store, driver, database } = parts;
  const deployTimeoutMs = config.fleet.deploy_timeout_seconds * 1_000;
  const isGated = config.rollout.require_image_in_registry ?? config.fleet.driver !== "process";
  const findCredential = createFindCredential(process.env, config.registry.docker_config);
  const pinImage = createPinImage(config.registry, findCredential);
  return [
    createSentinelService({ deployer: createDeployer(driver, store), deployTimeoutMs }),
    createFleetService(store),
    parts.results.reads,
    createChatChannel({
      webhookUrlOf: (channel) => config.slack[`${channel}_webhook_url`],
      spacingMs: config.slack.message_spacing_ms,
      keepsLog: true,
    }),
    createChatLog(database),
    ...createCron({ config, database, registry }),
    ...createRolloutServices({
      listFleet: async () => store.sync(await driver.list()),
      resolveImage: isGated ? pinImage : async (image) => image,
      database,
      maxParallel: config.rollout.max_parallel,
      deployTimeoutMs,
    }),
  ];
}

/** Until analytics is there. */
const unrecorded: Pick<Recorder, "verification" | "ratelimit"> = {
  verification: () => {},
  ratelimit: () => {},
};

async function startApi(base: Base, parts: ApiDatabase & { stops: Stop[] }): Promise<string> {
  const { config, log, credentials, registry } = base;
  const { database, databaseUrl, stops } = parts;
  const { host, port } = config.api;
  await ensureRootKey(database, credentials.root_key);
  const invalidations = listenForInvalidations(databaseUrl, log);
  stops.push(invalidations.close);
  const limiter = await startLimiter({ redisUrl: config.redis.url, log, registry });
  stops.push(limiter.close);
  const set = config.api.encryption_keys;
  const encryptionKeys = set.length > 0 ? set : [credentials.encryption_key];
  const api = createApi({
    database,
    invalidations,
    limiter,
    recorder: unrecorded,
    log,
    keyRing: createKeyRing(encryptionKeys),
    region: config.api.region,
    docsUrl: config.api.error_docs_url,
    trustedProxies: config.api.trusted_proxies,
    validatesAnswers: config.api.validate_answers,
    registry,
    logsRequests: config.api.log_requests,
  });
  stops.push(() => closeGracefully(api));
  return listening(api.listen({ host, port }), { port, setting: "api.port" });
}

type ControlParts = { ingressUrl: string; results: Results; stops: Stop[] };

async function startControl(base: Base, parts: ControlParts): Promise<string> {
  const { config, log, credentials } = base;
  const { ingressUrl, results, stops } = parts;
  const { host, port } = config.control;
  const control = createControl({
    ingressUrl,
    ingressToken: credentials.ingress_token,
    log,
    ...(results.findPublicPage !== null && { findPublicPage: results.findPublicPage }),
  });
  stops.push(() => control.close());
  return listening(control.listen({ host, port }), { port, setting: "control.port" });
}

async function startMetrics({ config, registry }: Base, stops: Stop[]): Promise<string> {
  const { host, port } = config.metrics;
  const server = createMetricsServer(registry);
  stops.push(() => server.close());
  return listening(server.listen({ host, port }), { port, setting: "metrics.port" });
}

function startProbing({ registry, log }: Base, database: Database, stops: Stop[]): void {
  const dependencies = [{ name: "postgres", ask: () => database.query("SELECT 1") }];
  stops.push(startProber({ registry, log, dependencies }).stop);
}
