/** Wires the gateway in front of Restate, and the console that it serves. */
import { bucketSecondsOf, createReadOutcomes } from "#api/analytics/usage.ts";
import { createListApis } from "#api/operator/workspaces.ts";
import { buildConsole } from "#console/build.ts";
import { createConsole } from "#console/server/console.ts";
import type { Moment, ReadMoment } from "#console/server/moment.ts";
import type { Logouts, Tickets } from "#console/server/stored.ts";
import { createIsKeyReused } from "#control/call-keys.ts";
import type { CiJobs } from "#control/ci-trust/jobs.ts";
import { createControl } from "#control/control.ts";
import type { SignIn } from "#control/sign-in/sign-in.ts";
import { recordGrants } from "#control/sign-in/trail.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { createFleetOverview } from "#fleet/overview/reader.ts";
import { createFleetReader } from "#fleet/reader.ts";
import type { RecordAccess } from "#kernel/audit.ts";
import { type Database, inSnapshot, type Queries } from "#kernel/database.ts";
import { listening } from "#kernel/server.ts";
import { nobodyOf } from "#monitor/results/list.ts";
import {
  createImageReader,
  createMemberReader,
  createRolloutReader,
} from "#rollout/history/reader.ts";
import { createProofKeysPage } from "#rollout/proof/keys.ts";
import { legalOperations } from "#rollout/rules/transitions.ts";
import { describeRouting } from "#routing/match.ts";
import type { Analytics } from "./analytics.ts";
import type { Base } from "./base.ts";
import type { ConsoleLinks } from "./console-links.ts";
import type { ProgramDefinitions } from "./definitions.ts";
import { fleetsOf } from "./fleets.ts";
import type { Monitor } from "./monitor.ts";
import { createWhyNobody } from "./monitor-secrets.ts";
import type { Results } from "./results.ts";
import type { Stops } from "./stops.ts";

type ControlParts = {
  ingressUrl: string;
  actorKey: Uint8Array;
  database: Database;
  results: Results;
  definitions: ProgramDefinitions;
  monitor: Monitor;
  analytics: Analytics;
  logouts: Logouts;
  tickets: Tickets;
  signIn: SignIn | undefined;
  ciJobs: CiJobs | undefined;
  record: RecordAccess;
  links: ConsoleLinks;
  stops: Stops;
};

export async function startControl(base: Base, parts: ControlParts): Promise<string> {
  const { config, log, credentials } = base;
  const { ingressUrl, database, results, stops } = parts;
  const { host, port, operators, public_url: publicUrl, trusted_proxies } = config.control;
  const store = parts.analytics.reading?.store;
  const fleets = fleetsOf(config);
  const whyNobody = createWhyNobody(config);
  const members = createMemberReader(database);
  const findProofKeys = createProofKeysPage(database);
  await recordGrants(database, config.control);
  const dir = await buildConsole();
  const doors = await parts.monitor.openDoors(stops);
  const control = createControl({
    ingressUrl,
    ingressToken: credentials.ingress_token,
    operators,
    actorKey: parts.actorKey,
    trustedProxies: trusted_proxies,
    log,
    registry: base.registry,
    fleets,
    isLeaving: base.departure.isAnnounced,
    doors,
    signIn: parts.signIn,
    ciJobs: parts.ciJobs,
    record: parts.record,
    isKeyReused: createIsKeyReused(database, log),
    askDatabase: () => database.query("SELECT 1"),
    findPublicPage: async (path) =>
      (await findProofKeys(path)) ?? (await results.findPublicPage?.(path)) ?? null,
    console: createConsole({
      logouts: parts.logouts,
      tickets: parts.tickets,
      log,
      record: parts.record,
      dir,
      publicUrl,
      fleets,
      fleet: createFleetReader(database),
      rollouts: { ...createRolloutReader(database), histories: members.histories },
      readMoment: createReadMoment(database),
      fleetPages: {
        overview: createFleetOverview(database),
        deploys: members.deploys,
        images: createImageReader(database),
      },
      listApis: createListApis(database),
      legalOperations,
      readRouting: async () => {
        const defined = await results.readDefinitions();
        const checks = [...defined.apiChecks, ...defined.heartbeats].map((check) => {
          return { ...check, reaches_nobody: whyNobody(check) };
        });
        const routing = describeRouting(await parts.definitions.readRows(), checks);
        return { ...routing, reaches_nobody: nobodyOf(defined, whyNobody) };
      },
      readOutcomes: store && createReadOutcomes(store),
      bucketSecondsOf,
    }),
  });
  stops.add("control", () => control.close());
  const url = await listening(control.listen({ host, port }), { port, setting: "control.port" });
  base.own("control", url);
  parts.links.setControl(url);
  return url;
}

type Request = Parameters<ReadMoment>[0];

/** Reads a rollout and its fleet at one moment, for pages that show both. */
export function createReadMoment(database: Database): ReadMoment {
  return (asked) =>
    inSnapshot(database, async (snapshot) => {
      const { limitMs } = asked;
      if (limitMs !== undefined) await snapshot.query(`SET LOCAL statement_timeout = ${limitMs}`);
      return readAll(snapshot, asked);
    });
}

async function readAll(snapshot: Queries, { rolloutId, fleet }: Request): Promise<Moment> {
  const rollouts = createRolloutReader(snapshot);
  const recorded = rolloutId === null ? undefined : await rollouts.recorded(rolloutId);
  const name = fleet ?? recorded?.status.fleet ?? defaultFleet;
  const startedAt = recorded?.status.started_at ?? null;
  return {
    recorded,
    members: rolloutId === null ? [] : await rollouts.members(rolloutId),
    fleet: await createFleetReader(snapshot).all(name, startedAt),
  };
}
