/** The reads of alert routes: who is notified of what, and whether the incident service is in step. */
import type { FastifyInstance } from "fastify";
import { ProblemError } from "#kernel/problem.ts";
import type { Caller } from "#kernel/roles.ts";
import {
  alertRoutesHandlers,
  alertRoutesKey,
  alertRoutesName,
} from "#routing/incident/contract.ts";
import { type ConsoleAccess, type RoutingView, SimulationRequest } from "./contract.ts";
import type { Guard } from "./guard.ts";
import { parseBody } from "./parse.ts";

/** Computed from the rows of the routes alone; `simulate` throws for an unknown source. */
export type Routing = {
  sources: RoutingView["sources"];
  checks: RoutingView["checks"];
  simulate: (alert: { source: string; labels: Record<string, string> }) => {
    routes: readonly RoutingView["simulation"]["routes"][number][];
    pages: readonly string[];
    channels: readonly string[];
  };
};

type Parts = { access: ConsoleAccess; guard: Guard; readRouting: () => Promise<Routing> };

export function serveRouting(app: FastifyInstance, { access, guard, readRouting }: Parts): void {
  app.post("/api/read/routing", async (request): Promise<RoutingView> => {
    const by = await guard.requireSession(request);
    const alert = parseBody(SimulationRequest, request.body);
    const path = `/${alertRoutesName}/${alertRoutesKey}/Status`;
    const routing = await readRouting();
    const { routes, pages, channels } = routing.simulate(alert);
    return {
      ...(await readSync(access, path, by)),
      sources: routing.sources,
      checks: routing.checks,
      simulation: { ...alert, routes: [...routes], pages: [...pages], channels: [...channels] },
    };
  });
}

/** An error here becomes part of the answer, so that the rest of the page is still shown. */
async function readSync(
  access: ConsoleAccess,
  path: string,
  by: Caller,
): Promise<Pick<RoutingView, "sync" | "sync_trouble">> {
  try {
    const status = await access.call({ path, body: {}, by });
    const { owned: _, ...sync } = alertRoutesHandlers.Status.output.parse(status);
    return { sync, sync_trouble: null };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { sync: null, sync_trouble: error.message };
  }
}
