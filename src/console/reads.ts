/** The reads of the pages: handlers by their own contracts, and rows of history. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { alertEventHandlers, alertEvents } from "#alerts/contract.ts";
import { defaultFleet, fleetService, maxSentinelId, SentinelLogRequest } from "#fleet/contract.ts";
import { isClean } from "#kernel/clean-text.ts";
import { ProblemError } from "#kernel/problem.ts";
import { checkReaders, checkReads } from "#monitor/results/contract.ts";
import { pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import { rolloutHandlers } from "#rollout/contract.ts";
import { promotionHandlers, promotionsName } from "#rollout/promotions/contract.ts";
import { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
import { chosenFleet, rolloutPath } from "./chosen-fleet.ts";
import type { ConsoleAccess, PastRollout } from "./contract.ts";
import type { FleetView } from "./fleet.ts";
import { toColumns } from "./fleet-columns.ts";
import type { Guard } from "./guard.ts";
import { parseBody } from "./parse.ts";
import type { ReadRollouts } from "./rollouts.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  rollouts: ReadRollouts;
  /** By fleet. */
  views: ReadonlyMap<string, FleetView>;
};

const check = (handler: string) => `/${checkReads.name}/${handler}`;

/** Handlers that only read, by the names that the page uses. */
const readers: Record<string, { path: string; input: z.ZodType }> = {
  pins: { path: `/${pinsName}/List`, input: pinHandlers.List.input },
  promotions: { path: `/${promotionsName}/List`, input: promotionHandlers.List.input },
  windows: { path: `/${windowsName}/List`, input: windowHandlers.List.input },
  checks: { path: check("List"), input: checkReaders.List.input },
  "check-history": { path: check("History"), input: checkReaders.History.input },
  "check-chart": { path: check("Chart"), input: checkReaders.Chart.input },
  "check-episodes": { path: check("Episodes"), input: checkReaders.Episodes.input },
  "check-summary": { path: check("Summary"), input: checkReaders.Summary.input },
  "alert-events": { path: `/${alertEvents.name}/List`, input: alertEventHandlers.List.input },
  "sentinel-log": { path: `/${fleetService.name}/Log`, input: SentinelLogRequest },
  "check-replay": { path: check("Replay"), input: checkReaders.Replay.input },
};

/** Those of the rollout of the fleet that the page shows. */
const rolloutReaders = { plan: "Plan", history: "History" } as const;

const RolloutId = z.string().refine((id) => isClean(id, 100), "must be a rollout id");
const PastRequest = z.strictObject({ rollout_id: RolloutId });
const SentinelRequest = z.strictObject({
  id: z.string().refine((id) => isClean(id, maxSentinelId), "must be a sentinel's id"),
  rollout_id: RolloutId.nullable(),
});

export function serveReads(app: FastifyInstance, parts: Parts): void {
  const { access, guard, views } = parts;
  const fleetOf = (request: FastifyRequest) => chosenFleet(request, [...views.keys()]);
  const viewOf = (request: FastifyRequest) => views.get(fleetOf(request)) as FleetView;
  for (const [name, handler] of Object.entries(rolloutReaders)) {
    app.post(`/api/read/${name}`, async (request) => {
      const by = await guard.requireSession(request);
      const body = parseBody(rolloutHandlers[handler].input, request.body);
      return access.call({ path: rolloutPath(fleetOf(request), handler), body, by });
    });
  }
  for (const [name, { path, input }] of Object.entries(readers)) {
    app.post(`/api/read/${name}`, async (request) => {
      const by = await guard.requireSession(request);
      return access.call({ path, body: parseBody(input, request.body), by });
    });
  }
  app.post("/api/read/past-rollout", async (request) => {
    await guard.requireSession(request);
    const { rollout_id: rolloutId } = parseBody(PastRequest, request.body);
    return readPast(parts, rolloutId);
  });
  app.post("/api/read/sentinel", async (request) => {
    await guard.requireSession(request);
    const { id, rollout_id } = parseBody(SentinelRequest, request.body);
    return viewOf(request).one(id, rollout_id);
  });
}

/** Of its own fleet, whichever the page shows: a link to a rollout need not name it. */
async function readPast(
  { rollouts, views }: Pick<Parts, "rollouts" | "views">,
  rolloutId: string,
): Promise<PastRollout> {
  const status = await rollouts.status(rolloutId);
  if (status === undefined) {
    throw new ProblemError({ status: 404, code: "not_found", detail: "there is no such rollout" });
  }
  // One that the settings have lost has no sentinels any more, as any fleet says.
  const view = (views.get(status.fleet ?? defaultFleet) ?? views.get(defaultFleet)) as FleetView;
  const [detail, rows, progress] = await Promise.all([
    rollouts.detail(status),
    view.past(rolloutId),
    rollouts.progress(rolloutId),
  ]);
  const { image, total } = status;
  const shown = { rolloutId, image, isActive: false, total };
  return { detail, fleet: toColumns(rows, shown), progress };
}
