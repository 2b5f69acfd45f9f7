/** The console: a page, its session, its stream of events, its reads and its writes. */
import type { FleetOperators } from "#fleet/contract.ts";
import type { Log } from "#kernel/log.ts";
import type { Caller } from "#kernel/roles.ts";
import type { Operation, RolloutStateName } from "#rollout/contract.ts";
import { readBuiltPage } from "./built-page.ts";
import { serveCheckOrders } from "./check-orders.ts";
import type { ConsolePlugin } from "./contract.ts";
import { createReadSentinel, type FleetTables } from "./fleet.ts";
import { type FleetPages, serveFleetReads } from "./fleet-reads.ts";
import { createGuard } from "./guard.ts";
import { type ListApis, type ReadOutcomes, serveKeyUsage } from "./key-usage.ts";
import { createLive } from "./live.ts";
import type { Logouts } from "./logouts.ts";
import type { ReadMoment } from "./moment.ts";
import { readStatus, serveOrders } from "./orders.ts";
import { servePages } from "./pages.ts";
import { serveProviderSignIn } from "./provider-sign-in.ts";
import { serveReads } from "./reads.ts";
import type { ReadRollouts } from "./rollouts.ts";
import { type Routing, serveRouting } from "./routing.ts";
import { serveRowOrders } from "./row-orders.ts";
import { serveSignIn } from "./sign-in.ts";
import { serveStream } from "./stream.ts";
import { serveTicketSignIn } from "./ticket-sign-in.ts";
import type { Tickets } from "./tickets.ts";

export type ConsoleParts = {
  logouts: Logouts;
  tickets: Tickets;
  log: Log;
  /** The built page. */
  dir: string;
  /** The address that browsers use; empty: the one in their request. */
  publicUrl: string;
  /** The default one is the first. */
  fleets: readonly FleetOperators[];
  fleet: FleetTables["fleet"];
  rollouts: ReadRollouts & FleetTables["rollouts"];
  readMoment: ReadMoment;
  fleetPages: FleetPages;
  listApis: ListApis;
  readRouting: () => Promise<Routing>;
  /** undefined: there are no analytics to read. */
  readOutcomes: ReadOutcomes | undefined;
  bucketSecondsOf: (spanMs: number) => number;
  legalOperations: (state: RolloutStateName) => Operation[];
};

/** In whose name is read what no single operator has requested. */
const itself: Caller = { actor: "console", roles: ["read"] };

export function createConsole(parts: ConsoleParts): ConsolePlugin {
  const { logouts, log, publicUrl, legalOperations, dir } = parts;
  const { html, build } = readBuiltPage(dir);
  return (access) => async (app) => {
    const guard = createGuard(access, { logouts, publicUrl });
    const { rollouts, readMoment } = parts;
    const fleets = parts.fleets.map(({ name }) => name);
    const liveOf = (fleet: string) => {
      const read = (signal: AbortSignal) => readStatus(access, { by: itself, fleet, signal });
      const nowMs = () => performance.now();
      const of = { name: fleet, readStatus: read, readMoment, legalOperations, nowMs, log, build };
      return [fleet, createLive(of)] as const;
    };
    const lives = new Map(fleets.map(liveOf));
    const signIn = {
      fleets: parts.fleets,
      access,
      guard,
      logouts,
      log,
      isSecure: publicUrl.startsWith("https:"),
    };
    serveSignIn(app, signIn);
    serveTicketSignIn(app, { ...signIn, tickets: parts.tickets, publicUrl });
    serveProviderSignIn(app, { ...signIn, publicUrl });
    serveStream(app, { guard, lives });
    serveOrders(app, { access, guard, lives, log });
    serveReads(app, {
      access,
      guard,
      rollouts,
      readMoment,
      fleets,
      readSentinel: createReadSentinel(parts),
    });
    serveFleetReads(app, { guard, fleets, pages: parts.fleetPages });
    serveCheckOrders(app, { access, guard, log });
    serveRowOrders(app, { access, guard, log });
    serveRouting(app, { access, guard, readRouting: parts.readRouting });
    const { readOutcomes, bucketSecondsOf } = parts;
    serveKeyUsage(app, { listApis: parts.listApis, guard, readOutcomes, bucketSecondsOf });
    await servePages(app, { dir, html });
  };
}
