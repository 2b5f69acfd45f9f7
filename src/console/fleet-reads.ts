/** The reads of the pages that show a fleet and its sentinels. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { maxSentinelId } from "#fleet/contract.ts";
import { type FleetOverview, FleetSearch } from "#fleet/overview/contract.ts";
import { isClean } from "#kernel/clean-text.ts";
import type { SeenImage, SentinelDeploy } from "#rollout/history/contract.ts";
import { chosenFleet } from "./chosen-fleet.ts";
import type { Guard } from "./guard.ts";
import { parseBody } from "./parse.ts";
import { shareReads } from "./shared-reads.ts";

export type FleetPages = {
  overview: (fleet: string, search: FleetSearch) => Promise<FleetOverview>;
  /** The newest deploys of a sentinel, over all rollouts. */
  deploys: (sentinelId: string) => Promise<SentinelDeploy[]>;
  /** The images that a fleet has seen. */
  images: (fleet: string) => Promise<SeenImage[]>;
};

type Parts = { guard: Guard; fleets: readonly string[]; pages: FleetPages };

const DeploysRequest = z.strictObject({
  id: z.string().refine((id) => isClean(id, maxSentinelId), "must be a sentinel's id"),
});

export function serveFleetReads(app: FastifyInstance, { guard, fleets, pages }: Parts): void {
  const serve = <Schema extends z.ZodType>(
    name: string,
    input: Schema,
    answer: (body: z.infer<Schema>, request: FastifyRequest) => Promise<unknown>,
  ) =>
    app.post(`/api/read/${name}`, async (request) => {
      await guard.requireSession(request);
      return answer(parseBody(input, request.body), request);
    });
  const overview = shareReads(pages.overview, { atOnce: 2 });
  serve("fleet", FleetSearch, (search, request) => overview(chosenFleet(request, fleets), search));
  serve("sentinel-deploys", DeploysRequest, async ({ id }) => ({
    deploys: await pages.deploys(id),
  }));
  serve("images", z.strictObject({}), async (_, request) => ({
    images: await pages.images(chosenFleet(request, fleets)),
  }));
}
