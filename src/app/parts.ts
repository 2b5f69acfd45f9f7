/** Wires the program: its parts, the order of their start, and what each of them gets. */
import { createLogouts } from "#console/logouts.ts";
import type { Endpoints } from "#embedded/contract.ts";
import { withoutCredentials } from "#embedded/running.ts";
import { requireHealth } from "#kernel/restate-address.ts";
import { nobodyOf } from "#monitor/results/list.ts";
import { readActorKey } from "./actor-key.ts";
import { startAnalytics } from "./analytics.ts";
import { startApi } from "./api.ts";
import type { Base } from "./base.ts";
import { createConsoleLinks } from "./console-links.ts";
import { startControl } from "./control.ts";
import { openData } from "./data.ts";
import { createDefinitions, readGiven } from "./definitions.ts";
import type { Metrics } from "./metrics.ts";
import { createMonitor } from "./monitor.ts";
import { createWhyNobody } from "./monitor-secrets.ts";
import { createMissingOfJob } from "./own-jobs.ts";
import { startCheckKey } from "./own-keys.ts";
import { postgresServer } from "./own-services.ts";
import { startRestateFront } from "./restate-front.ts";
import { createResults } from "./results.ts";
import type { Role } from "./roles.ts";
import type { Restate, Servers } from "./servers.ts";
import { prepareSignIn, prepareTickets } from "./sign-in.ts";
import type { Stops } from "./stops.ts";
import { startWorker } from "./worker.ts";

export type Parts = {
  endpoints: Endpoints;
  /**
   * A ticket that signs in at the console once; undefined: there is no console here, people sign in at an identity
   * provider, or Postgres does not answer.
   */
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
  const given = wanted.includes("worker") ? await readGiven(base.config) : undefined;
  // A process that serves the public API only doesn't use Restate.
  const usesRestate = wanted.some((role) => role !== "api");
  let restate: Promise<Restate> | undefined;
  const { database, databaseUrl, directUrl } = await openData(base, {
    roles: wanted,
    url: await servers.database,
    stops,
    onAllowed: () => {
      if (usesRestate) restate = servers.beginRestate();
    },
  });
  base.own("Postgres", postgresServer(databaseUrl));
  metrics.watch({ name: "postgres", ask: () => database.query("SELECT 1") });
  if (wanted.includes("worker")) await startCheckKey(base, database);
  const servesApi = wanted.includes("api");
  const missingOfJob = createMissingOfJob(base.config, { servesApi });
  const definitions = createDefinitions(base, { database, given, missingOfJob });
  const results = createResults({ ...base, database, ...definitions });
  const analytics = await startAnalytics(base, { servesApi, stops });
  const api = servesApi
    ? await startApi(base, { analytics, database, databaseUrl, directUrl, metrics, stops })
    : undefined;
  const monitor = createMonitor(base, { database, databaseUrl, results, apiUrl: api?.url, stops });
  const links = createConsoleLinks(base.config);
  const parts = { database, missingOfJob, definitions, results, monitor, links, metrics, stops };
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

type DurableParts = Omit<Parameters<typeof startWorker>[1], keyof Restate | "actorKey"> & {
  metrics: Metrics;
  restate: Restate;
};

/** Starts the roles that use Restate. */
async function startDurable(base: Base, wanted: Role[], parts: DurableParts) {
  const { restate } = parts;
  // Again, after all that it shall be stopped before: it was begun long ago.
  if (restate.stop !== undefined) parts.stops.add("Restate", restate.stop);
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
      ...(worker !== undefined && { worker: worker.url }),
      ...addresses,
    },
    issueTicket: signsIn ? tickets.issue : async () => undefined,
    populate: () => worker?.populate(),
  };
}
