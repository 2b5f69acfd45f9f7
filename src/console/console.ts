/** The console: a page, its session, its stream of events, its reads and its writes. */
import type { Log } from "#kernel/log.ts";
import type { Caller } from "#kernel/roles.ts";
import type { Operation, RolloutStateName } from "#rollout/contract.ts";
import { serveCheckOrders } from "./check-orders.ts";
import type { ConsolePlugin } from "./contract.ts";
import { createFleetView, type FleetTables } from "./fleet.ts";
import { createGuard } from "./guard.ts";
import { type ListApis, type ReadOutcomes, serveKeyUsage } from "./key-usage.ts";
import { createLive } from "./live.ts";
import type { Logouts } from "./logouts.ts";
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
  tickets: Pick<Tickets, "redeem">;
  log: Log;
  /** The built page. */
  dir: string;
  /** The address that browsers use; empty: the one in their request. */
  publicUrl: string;
  fleet: FleetTables["fleet"];
  rollouts: ReadRollouts & FleetTables["rollouts"];
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
  const { logouts, log, publicUrl, legalOperations } = parts;
  return (access) => async (app) => {
    const guard = createGuard(access, { logouts, publicUrl });
    const { rollouts } = parts;
    const fleet = createFleetView(parts);
    const live = createLive({
      readStatus: (signal) => readStatus(access, itself, signal),
      rollouts,
      fleet,
      legalOperations,
      log,
    });
    const signIn = { access, guard, logouts, log, isSecure: publicUrl.startsWith("https:") };
    serveSignIn(app, signIn);
    serveTicketSignIn(app, { ...signIn, tickets: parts.tickets });
    serveProviderSignIn(app, { ...signIn, publicUrl });
    serveStream(app, { guard, live });
    serveOrders(app, { access, guard, live, log });
    serveReads(app, { access, guard, rollouts, fleet });
    serveCheckOrders(app, { access, guard, log });
    serveRowOrders(app, { access, guard, log });
    serveRouting(app, { access, guard, readRouting: parts.readRouting });
    const { readOutcomes, bucketSecondsOf } = parts;
    serveKeyUsage(app, { listApis: parts.listApis, guard, readOutcomes, bucketSecondsOf });
    await servePages(app, parts.dir);
  };
}
