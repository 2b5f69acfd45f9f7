/** The reads of the pages: handlers by their own contracts, and rows of history. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { alertEventHandlers, alertEvents } from "#alerts/contract.ts";
import { fleetService, maxSentinelId, SentinelLogRequest } from "#fleet/contract.ts";
import { isClean } from "#kernel/clean-text.ts";
import { ProblemError } from "#kernel/problem.ts";
import { checkReaders, checkReads } from "#monitor/results/contract.ts";
import { pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import { rolloutHandlers } from "#rollout/contract.ts";
import type { RolloutDetail } from "#rollout/history/contract.ts";
import { promotionHandlers, promotionsName } from "#rollout/promotions/contract.ts";
import { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
import { statusHandlers, statusReads } from "#status/contract.ts";
import { chosenFleet, rolloutPath } from "./chosen-fleet.ts";
import type { ConsoleAccess, PastRollout } from "./contract.ts";
import { detailOf } from "./counts.ts";
import type { ReadSentinel } from "./fleet.ts";
import { toColumns } from "./fleet-columns.ts";
import { joinPast } from "./fleet-rows.ts";
import { toStore } from "./fleet-store.ts";
import type { Guard } from "./guard.ts";
import type { ReadMoment } from "./moment.ts";
import { parseBody } from "./parse.ts";
import type { RolloutPast } from "./past/contract.ts";
import { encodePast } from "./past/encode.ts";
import type { ReadRollouts } from "./rollouts.ts";
import { shareReads } from "./shared-reads.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  rollouts: ReadRollouts;
  readMoment: ReadMoment;
  readSentinel: ReadSentinel;
  fleets: readonly string[];
};

const check = (handler: string) => `/${checkReads.name}/${handler}`;

/** Handlers that only read, by the names that the page uses. */
const readers: Record<string, { path: string; input: z.ZodType }> = {
  pins: { path: `/${pinsName}/List`, input: pinHandlers.List.input },
  promotions: { path: `/${promotionsName}/List`, input: promotionHandlers.List.input },
  windows: { path: `/${windowsName}/List`, input: windowHandlers.List.input },
  status: { path: `/${statusReads.name}/Read`, input: statusHandlers.Read.input },
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
const PastRequest = z.strictObject({
  rollout_id: RolloutId,
  /** Whether the answer is to have `past`: what changed from moment to moment. */
  moments: z.boolean().default(false),
});
const SentinelRequest = z.strictObject({
  id: z.string().refine((id) => isClean(id, maxSentinelId), "must be a sentinel's id"),
  rollout_id: RolloutId.nullable(),
});

export function serveReads(app: FastifyInstance, parts: Parts): void {
  const { access, guard, fleets } = parts;
  const fleetOf = (request: FastifyRequest) => chosenFleet(request, fleets);
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
  const past = shareReads((asked: PastAsked) => readPast(parts, asked), { atOnce: 2 });
  app.post("/api/read/past-rollout", async (request) => {
    await guard.requireSession(request);
    return past(parseBody(PastRequest, request.body));
  });
  app.post("/api/read/sentinel", async (request) => {
    await guard.requireSession(request);
    const { id, rollout_id } = parseBody(SentinelRequest, request.body);
    return parts.readSentinel(id, rollout_id);
  });
}

type PastAsked = z.infer<typeof PastRequest>;

/** Of its own fleet, whichever the page shows: a link to a rollout need not name it. */
async function readPast(
  { rollouts, readMoment }: Pick<Parts, "rollouts" | "readMoment">,
  { rollout_id: rolloutId, moments }: PastAsked,
): Promise<PastRollout & { past?: RolloutPast }> {
  const { recorded, members, fleet } = await readMoment({ rolloutId });
  if (recorded === undefined) {
    throw new ProblemError({ status: 404, code: "not_found", detail: "there is no such rollout" });
  }
  const columns = toColumns(joinPast(fleet, members), recorded.status);
  const detail = detailOf(recorded, toStore(columns));
  const [progress, histories] = await Promise.all([
    rollouts.progress(rolloutId),
    moments ? rollouts.histories(rolloutId) : undefined,
  ]);
  const past = histories && encodePast(columns.ids, histories, spanOf(detail));
  return { detail, fleet: columns, progress, ...(past !== undefined && { past }) };
}

/** Also of a rollout that goes on: until its last change. */
function spanOf({ status, ended_at: endedAt }: RolloutDetail): { fromMs: number; toMs: number } {
  const fromMs = Date.parse(status.started_at ?? "");
  const toMs = Date.parse(endedAt ?? status.updated_at ?? "");
  return { fromMs, toMs: Math.max(fromMs, toMs) };
}
