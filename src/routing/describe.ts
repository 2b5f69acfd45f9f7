/** The routing data that the console shows. */
import { noSuch } from "#kernel/nearest.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { RoutingRows } from "./contract.ts";
import { type Alert, simulate } from "./match.ts";
import { type RoutedCheck, walkToPage } from "./walk.ts";

export function describeRouting({ sources, routes }: RoutingRows, watched: readonly RoutedCheck[]) {
  return {
    sources: sources.map(({ name, title, environment, labels }) => ({
      name,
      title,
      environment,
      labels,
    })),
    checks: watched.map((check) => {
      const { channel, source, simulation } = walkToPage(check, { sources, routes });
      const { pages = [], channels = [] } = simulation ?? {};
      return { check: check.id, channel, source, pages: [...pages], channels: [...channels] };
    }),
    simulate: (alert: Alert) => {
      if (sources.some(({ name }) => name === alert.source)) return simulate(alert, routes);
      throw new ProblemError({
        status: 400,
        code: "unknown_source",
        detail: noSuch("source", alert.source, sources),
      });
    },
  };
}
