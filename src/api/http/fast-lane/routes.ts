/** The procedures that the fast lane answers: those that are called most, whose usual body is read without a schema. */
import type { StartAnswer } from "#api/http/answering.ts";
import type { MountedRoute } from "#api/http/router.ts";
import type { CounterOf, CountRequest } from "#api/metrics.ts";

/** `count`: counts a request in the metrics; undefined: none are. */
export type FastRoute = { start: StartAnswer; count: CountRequest | undefined };

/** The routes by path. */
export type FastRoutes = ReadonlyMap<string, FastRoute>;

export function createFastRoutes(
  routes: readonly MountedRoute[],
  counterOf: CounterOf | undefined,
): FastRoutes {
  const usual = routes.filter(({ procedure }) => procedure.readUsual !== undefined);
  return new Map(usual.map(({ path, start }) => [path, { start, count: counterOf?.(path) }]));
}
