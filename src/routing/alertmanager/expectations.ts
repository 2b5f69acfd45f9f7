/** Which receiver each kind of alert has to reach, computed from the rows and not from the tree. */
import type { AlertRoute } from "#routing/contract.ts";
import { combineDomain, coverSource, notSet, standIn } from "#routing/coverage.ts";
import { simulate } from "#routing/match.ts";
import { isPlain } from "./matchers.ts";
import { type Delivery, environmentLabel, nameReceivers, routesOf } from "./tree.ts";

export type Expectation = { receiver: string; labels: Record<string, string> };

/** Throws a RangeError when a source has more kinds of alerts than can be tried. */
export function expectReceivers(
  deliveries: readonly Delivery[],
  routes: readonly AlertRoute[],
): Expectation[] {
  const environments = deliveries.map(({ source }) => source.environment);
  const nameOf = nameReceivers(routes);
  return deliveries.flatMap((delivery, i) => {
    const kinds = kindsOf(delivery, routes);
    const own = kinds.map((labels) => ({ ...labels, [environmentLabel]: environments[i] ?? "" }));
    // Alerts that name none of the environments belong to the first one.
    const others = i === 0 ? kinds.filter((labels) => !namesOne(labels, environments)) : [];
    return [...others, ...own].map((labels) => ({
      receiver: nameOf(delivery.source, findTaker(delivery, labels, routes)),
      labels,
    }));
  });
}

type Labels = Expectation["labels"];

function kindsOf({ source }: Delivery, routes: readonly AlertRoute[]): Labels[] {
  // Other names count only in conditions: an old Alertmanager has neither.
  const labels = Object.entries(source.labels).filter(([name]) => isPlain(name));
  const { domain } = coverSource({ ...source, labels: Object.fromEntries(labels) }, routes);
  return combineDomain(domain).map((values) =>
    Object.fromEntries(
      Object.entries(values)
        .filter(([, value]) => value !== notSet)
        .map(([name, value]) => [name, standIn(value, domain[name] ?? [])]),
    ),
  );
}

function namesOne(labels: Labels, environments: readonly string[]): boolean {
  return environments.includes(labels[environmentLabel] ?? "");
}

/** null: no route takes the alert. */
function findTaker({ source }: Delivery, labels: Labels, routes: readonly AlertRoute[]) {
  const verdicts = simulate({ source: source.name, labels }, routes).routes;
  const takers = verdicts.filter(({ matches }) => matches).map(({ route }) => route);
  return routesOf(source, routes).find(({ name }) => takers.includes(name)) ?? null;
}
