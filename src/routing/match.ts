/** Finds the routes that take an alert, as the incident service decides it: every route that matches acts. */
import type { Environment } from "#alerts/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { noSuch } from "#kernel/text.ts";
import type { AlertRoute, Condition, RoutingRows } from "./contract.ts";

export type Alert = {
  /** The name of a row of `sources`. */
  source: string;
  /** The alert's labels; an empty one counts as missing, as in Prometheus. */
  labels: Readonly<Record<string, string>>;
};

type RouteVerdict = {
  route: string;
  matches: boolean;
  /** The reason for people: `severity is info, not critical`. */
  because: string;
  escalation: string | null;
  channel: string;
};

type Simulation = Alert & {
  /** Every route that takes alerts of this source, in the order of the rows. */
  routes: readonly RouteVerdict[];
  /** Escalation paths that page, each once. */
  pages: readonly string[];
  /** Chat channels that get it, each once. */
  channels: readonly string[];
};

/** An alert that no route takes is dropped silently: then `pages` and `channels` are empty. */
export function simulate(alert: Alert, routes: readonly AlertRoute[]): Simulation {
  const verdicts = routes.flatMap((route) => evaluateRoute(alert, route) ?? []);
  const taken = verdicts.filter(({ matches }) => matches);
  return {
    ...alert,
    routes: verdicts,
    pages: unique(taken.flatMap(({ escalation }) => escalation ?? [])),
    channels: unique(taken.map(({ channel }) => channel)),
  };
}

/** undefined: the route takes nothing from the alert's source. */
function evaluateRoute(alert: Alert, route: AlertRoute): RouteVerdict | undefined {
  const entries = route.sources.filter(({ source }) => source === alert.source);
  if (entries.length === 0) return undefined;
  const { name, escalation, channel } = route;
  const judged = entries.map(({ conditions }) => evaluateAll(alert.labels, conditions));
  const { holds, because } = judged.find(({ holds }) => holds) ?? (judged[0] as Evaluation);
  const { activeTimes, inhibitedBy } = route;
  const limits = activeTimes ?? inhibitedBy;
  const limited =
    holds && limits !== undefined ? `${because}; Alertmanager may hold it back` : because;
  return { route: name, matches: holds, because: limited, escalation, channel };
}

type Evaluation = { holds: boolean; because: string };

/** True if all conditions hold, by the same rules as those of routes. */
export function matchesAll(labels: Alert["labels"], conditions: readonly Condition[]): boolean {
  return evaluateAll(labels, conditions).holds;
}

function evaluateAll(labels: Alert["labels"], conditions: readonly Condition[]): Evaluation {
  const judged = conditions.map((condition) => evaluate(labels, condition));
  const failed = judged.find(({ holds }) => !holds);
  if (failed !== undefined) return failed;
  const reasons = judged.map(({ because }) => because);
  return { holds: true, because: reasons.join(", ") || "it takes every alert of this source" };
}

function evaluate(labels: Alert["labels"], condition: Condition): Evaluation {
  const { label, operation } = condition;
  // Own properties only: every object has a `constructor`, and no alert has that label by it.
  const value = Object.hasOwn(labels, label) ? labels[label] || null : null;
  const found = value === null ? `${label} is not set` : `${label} is ${value}`;
  switch (operation) {
    case "one_of": {
      const holds = value !== null && condition.values.includes(value);
      return { holds, because: holds ? found : `${found}, not ${condition.values.join(" or ")}` };
    }
    case "none_of":
      return { holds: value === null || !condition.values.includes(value), because: found };
    case "is_set":
      return { holds: value !== null, because: found };
    case "is_not_set":
      return { holds: value === null, because: found };
  }
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

/** The fields of an API check or a heartbeat that decide who is notified. */
export type RoutedCheck = {
  id: string;
  environment: Environment;
  channel: Environment | null;
  /** Why its alerts reach nobody. Absent: they leave this program. */
  reaches_nobody?: string | undefined;
};

export type Walk = {
  check: string;
  environment: Environment;
  /** null: the check has none, and only the console shows its alerts. */
  channel: Environment | null;
  /** The source that the channel posts to; null without a channel. */
  source: string | null;
  /** null without a channel. */
  simulation: Simulation | null;
};

/** A channel posts to the synthetic monitor's source of its environment. */
export function walkToPage(check: RoutedCheck, { sources, routes }: RoutingRows): Walk {
  const { id, environment, channel } = check;
  const ofChannel = sources.find((row) => row.kind === "checkly" && row.environment === channel);
  const source = channel === null ? undefined : ofChannel;
  return {
    check: id,
    environment,
    channel,
    source: source?.name ?? null,
    simulation: source === undefined ? null : simulate({ source: source.name, labels: {} }, routes),
  };
}

/** The routing data that the console shows. */
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
      const { id, reaches_nobody } = check;
      const notified = { pages: [...pages], channels: [...channels], reaches_nobody };
      return { check: id, channel, source, ...notified };
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
