/** The fleet that a page shows, by the query of its requests. */
import type { FastifyRequest } from "fastify";
import { defaultFleet } from "#fleet/contract.ts";
import { noSuch } from "#kernel/nearest.ts";
import { ProblemError } from "#kernel/problem.ts";
import { rolloutServiceName } from "#rollout/contract.ts";

/** Without a query it is the default fleet. Throws 404 for one that the settings do not have. */
export function chosenFleet(request: FastifyRequest, fleets: readonly string[]): string {
  const { fleet = defaultFleet } = request.query as { fleet?: unknown };
  const found = fleets.find((name) => name === fleet);
  if (found !== undefined) return found;
  throw new ProblemError({
    status: 404,
    code: "not_found",
    detail: noSuch("fleet", String(fleet), fleets),
  });
}

export function rolloutPath(fleet: string, handler: string): string {
  return `/${rolloutServiceName}/${fleet}/${handler}`;
}
