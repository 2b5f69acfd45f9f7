/** Wires the program: its parts, the order of their start, and what each of them gets. */
import { createHmac } from "node:crypto";
import { isEngineInstalled } from "#api/analytics/engine/is-installed.ts";
import { recordStart } from "#blame/record-start.ts";
import { type Config, isSecretPath } from "#config.ts";
import { createLogouts, createTickets, type Tickets } from "#console/server/stored.ts";
import { createIssuers } from "#control/ci-trust/issuers.ts";
import { type CiJobs, createCiJobs } from "#control/ci-trust/jobs.ts";
import { createUsedTokens } from "#control/ci-trust/used-tokens.ts";
import { createNames } from "#control/sign-in/names.ts";
import { createProvider } from "#control/sign-in/provider.ts";
import { createSignIn, type Logouts, type SignIn } from "#control/sign-in/sign-in.ts";
import { createTrail } from "#control/sign-in/trail.ts";
import { type CronJobName, cronJobs } from "#cron/contract.ts";
import type { Endpoints } from "#embedded/contract.ts";
import { withoutCredentials } from "#embedded/running.ts";
import type { RecordAccess } from "#kernel/audit.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { readVersion } from "#kernel/process.ts";
import { createReach } from "#kernel/reach.ts";
import { requireHealth } from "#kernel/restate.ts";
import { nobodyOf } from "#monitor/results/list.ts";
import type { MissingOfJob } from "#monitor/rules/own-jobs.ts";
import { comparesRoutes, hasAlertmanager } from "./alert-sync.ts";
import { startAnalytics } from "./analytics.ts";
import { startApi } from "./api.ts";
import type { Base, Role } from "./base.ts";
import { createBlame } from "./blame.ts";
import { createConsoleLinks } from "./console-links.ts";
import { startControl } from "./control.ts";
import { openData } from "./data.ts";
import { createDefinitions, createReadDefinitions, readStartRequest } from "./definitions.ts";
import type { Metrics } from "./metrics.ts";
import { createMonitor } from "./monitor.ts";
import { createWhyNobody } from "./monitor-secrets.ts";
import { readActorKey, startCheckKey } from "./own-keys.ts";
import { postgresServer } from "./own-services.ts";
import { createResults } from "./results.ts";
import { type Restate, type Servers, startRestateFront } from "./servers.ts";
import type { Stops } from "./stops.ts";
import { startWorker } from "./worker.ts";

export type Parts = {
  endpoints: Endpoints;
  /** Signs in at the console once; undefined: no console here, an identity provider, or no answer of Postgres. */
  issueTicket: () => Promise<string | undefined>;
  /** Why no alert leaves this program; undefined: some do, or another process has the checks. */
  readNobody: () => Promise<string | undefined>;
  /** Begins what would slow down the start of everything else. */
  populate: () => void;
};

type StartParts = { metrics: Metrics; servers: Servers; stops: Stops };

/** Starts what the roles need, in the order in which one part uses another. */
export async function startParts(
  base: Base,
  wanted: Role[],
  { metrics, servers, stops }: StartParts,
): Promise<Parts> {
  // Read first: a fault in the file is found before the database is changed, or Restate begun.
  const given = wanted.includes("worker") ? await readStartRequest(base.config) : undefined;
  // A process that serves the public API only doesn't use Restate.
  const usesRestate = wanted.some((role) => role !== "api");
  let restate: Promise<Restate> | undefined;
  const { database, databaseUrl, directUrl } = await openData(base, {
    roles: wanted,
    url: await servers.database,
    stops,
    onAllowed: () => {
      if (usesRestate) restate = servers.startRestate();
    },
  });
  base.own("Postgres", postgresServer(databaseUrl));
  await recordOwnStart(base, wanted, { database, stops });
  metrics.watch({ name: "postgres", ask: () => database.query("SELECT 1") });
  if (wanted.includes("worker")) await startCheckKey(base, database);
  const servesApi = wanted.includes("api");
  const missingOfJob = createMissingOfJob(base.config, { servesApi });
  const definitions = createDefinitions(base, { database, given, missingOfJob });
  const own = openOwn(base, { databaseUrl, missingOfJob, stops });
  const results = createResults({ ...base, database, ...definitions });
  const analytics = await startAnalytics(base, { servesApi, stops });
  const api = servesApi
    ? await startApi(base, { analytics, database, databaseUrl, directUrl, metrics, stops })
    : undefined;
  const runsHere = wanted.includes("worker");
  const apiUrl = api?.url;
  const monitor = createMonitor(base, { ...own, results, apiUrl, runsHere, stops });
  const links = createConsoleLinks(base.config);
  const parts = {
    database,
    ...own,
    missingOfJob,
    definitions,
    results,
    monitor,
    links,
    metrics,
    stops,
  };
  const durable =
    restate === undefined
      ? { addresses: {}, issueTicket: async () => undefined, populate: () => {} }
      : await startDurable(base, wanted, {
          ...parts,
          restate: await restate,
          analytics,
          apiUrl: api?.url,
        });
  const endpoints = {
    ...(api !== undefined && { api: api.url }),
    ...durable.addresses,
    metrics: metrics.url,
    ...(base.config.database.url === "" && { database: withoutCredentials(databaseUrl) }),
    pid: process.pid,
  };
  const populate = () => {
    api?.populate();
    durable.populate();
  };
  const whyNobody = createWhyNobody(base.config);
  const readNobody = async () =>
    wanted.includes("worker")
      ? nobodyOf(await definitions.readDefinitions(), whyNobody)
      : undefined;
  return { endpoints, issueTicket: durable.issueTicket, readNobody, populate };
}

/** A database that is away must not delay the stop. */
const stopRecordMs = 2_000;

/** Records which settings this process has, for alerts that open after its start. */
async function recordOwnStart(
  { config, credentials }: Base,
  wanted: readonly Role[],
  { database, stops }: { database: Database; stops: Stops },
): Promise<void> {
  const { stop } = await recordStart(database, {
    part: wanted.toSorted().join("+"),
    version: readVersion(),
    settings: config,
    isSecret: isSecretPath,
    pepper: credentials.ingress_token,
  });
  stops.add("record of the start", stop, stopRecordMs);
}

type OwnParts = { databaseUrl: string; missingOfJob: MissingOfJob; stops: Stops };

/** A pool of its own: decisions, pings and deliveries wait behind no reads, and long for no lock. */
function openOwn(base: Base, { databaseUrl, missingOfJob, stops }: OwnParts) {
  const ownDatabase = openDatabase(databaseUrl, base.log, ownConnections, ownLockTimeoutMs);
  stops.add("monitor database", () => ownDatabase.end());
  const readDefinitions = createReadDefinitions(base, { database: ownDatabase, missingOfJob });
  return { ownDatabase, readDefinitions, blame: createBlame(base, ownDatabase) };
}

const ownConnections = 12;
const ownLockTimeoutMs = 3_000;

type DurableParts = Omit<Parameters<typeof startWorker>[1], keyof Restate | "actorKey"> & {
  metrics: Metrics;
  restate: Restate;
};

async function startDurable(base: Base, wanted: Role[], parts: DurableParts) {
  const { restate } = parts;
  // Again, after all that it shall be stopped before: it was begun long ago.
  if (restate.stop !== undefined) parts.stops.add("Restate", restate.stop);
  parts.metrics.watch({ name: "restate", ask: () => requireHealth(restate.ingressUrl) });
  const actorKey = await readActorKey(parts.database);
  const logouts = createLogouts(parts.database, base.log);
  const { record, stop } = createTrail({ database: parts.database, log: base.log });
  parts.stops.add("audit trail", stop);
  const signIn = prepareSignIn(base, { ...parts, actorKey, logouts, record });
  const ciJobs = prepareCiJobs(base, { ...parts, actorKey, record });
  const tickets = prepareTickets(base, { ...parts, actorKey });
  const shared = { ...parts, ...restate, actorKey, logouts, tickets, signIn, ciJobs, record };
  const { addresses, close } = await startRestateFront(base, shared);
  const worker = wanted.includes("worker") ? await startWorker(base, shared) : undefined;
  // Stopped before the worker, so that the worker can still answer calls in flight.
  parts.stops.add("Restate's addresses", close);
  const control = wanted.includes("control") ? await startControl(base, shared) : undefined;
  const signsIn = control !== undefined && signIn === undefined;
  return {
    addresses: {
      ...(control !== undefined && { control }),
      ...(worker !== undefined && { worker: worker.url }),
      ...addresses,
    },
    issueTicket: signsIn ? tickets.issue : async () => undefined,
    populate: () => worker?.populate(),
  };
}

type SignInParts = {
  actorKey: Uint8Array;
  database: Database;
  logouts: Logouts;
  record: RecordAccess;
};

/** undefined: no provider is set. Does not ask the provider: `control` starts also while that is down. */
function prepareSignIn(
  { config, credentials, log, services }: Base,
  { actorKey, database, logouts, record }: SignInParts,
): SignIn | undefined {
  const { oidc, operators } = config.control;
  if (oidc.issuer === "") return undefined;
  return createSignIn({
    oidc,
    operators,
    provider: createProvider(oidc, { reach: createReach({ services }) }),
    names: createNames(database, log),
    secret: secretOf(actorKey, credentials.ingress_token),
    logouts,
    log,
    record,
  });
}

/** undefined: no row trusts a job. Asks no issuer: `control` starts also while one is down. */
function prepareCiJobs(
  { config, credentials, log, services }: Base,
  { actorKey, database, record }: Pick<SignInParts, "actorKey" | "database" | "record">,
): CiJobs | undefined {
  const { ci_trust: rows, public_url: publicUrl } = config.control;
  if (rows.length === 0) return undefined;
  return createCiJobs({
    ...{ rows, publicUrl, log, record },
    issuers: createIssuers({ reach: createReach({ services }) }),
    used: createUsedTokens(database, log),
    secret: secretOf(actorKey, credentials.ingress_token),
  });
}

/** Prepares tickets, which another ingress token makes void, as it does sessions. */
function prepareTickets(
  { credentials }: Pick<Base, "credentials">,
  { actorKey, database }: Pick<SignInParts, "actorKey" | "database">,
): Tickets {
  return createTickets(database, secretOf(actorKey, credentials.ingress_token));
}

/** Derives a secret, so that the ingress token alone makes no session, and another one ends all sessions. */
function secretOf(actorKey: Uint8Array, ingressToken: string): Uint8Array {
  return createHmac("sha256", actorKey).update(`vedette sign-in ${ingressToken}`).digest();
}

type Installation = {
  /** True if this process serves the public API, and so has the embedded analytics. */
  servesApi: boolean;
  isEngineInstalled?: () => boolean;
};

/** Returns why each job is off; nothing for jobs that are on. */
export function createMissingOfJob(config: Config, here: Installation): MissingOfJob {
  const analytics = missingOfAnalytics(config, here);
  const missing: Record<CronJobName, string[]> = {
    "key-refill": [],
    "count-keys": [],
    "quota-check": analytics,
    "key-last-used-sync": analytics,
    "certificate-renewal": config.acme.names.length === 0 ? ["acme.names"] : [],
    "alertmanager-drift": hasAlertmanager(config) ? [] : ["alertmanager.production.url"],
    "alert-routes-drift": comparesRoutes(config) ? [] : missingOfRoutes(config),
    "fleet-drift": [],
  };
  return (job) => {
    const name = cronJobs.find((known) => known === job);
    return name === undefined ? [] : missing[name];
  };
}

function missingOfAnalytics({ analytics, clickhouse }: Config, here: Installation): string[] {
  if (!analytics.enabled) return ["analytics.enabled"];
  const { servesApi, isEngineInstalled: isInstalled = isEngineInstalled } = here;
  return clickhouse.url !== "" || (servesApi && isInstalled()) ? [] : ["clickhouse.url"];
}

function missingOfRoutes({ incident }: Config): string[] {
  const { url, api_key, drift_check_minutes } = incident;
  return [
    ...(url === "" ? ["incident.url"] : []),
    ...(api_key === "" ? ["incident.api_key"] : []),
    ...(drift_check_minutes > 0 ? [] : ["incident.drift_check_minutes"]),
  ];
}
