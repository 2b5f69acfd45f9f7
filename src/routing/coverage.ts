/**
 * Finds the routes that take each alert that a source can send. Conditions only compare labels with values that
 * they name, so all unnamed values of a label are equivalent and one of them represents the rest. Trying every
 * named value, one unnamed value and no value is therefore a proof, not a sample.
 */
import type { AlertRoute, AlertSource } from "./contract.ts";
import { simulate } from "./match.ts";

/** Represents every value that no row names; shown to people as it is. */
export const anyOther = "(any other value)";
/** Represents a label that the alert lacks; shown to people as it is. */
export const notSet = "(not set)";

/** Label values with the same routes, for example severity: info, (any other value). */
export type Region = { source: string; labels: Record<string, string[]> };

export type Coverage = {
  /** Alerts that no route takes: nobody is notified of them. */
  holes: Region[];
  /** Alerts that two routes or more take, with the names of the routes. */
  overlaps: (Region & { routes: string[] })[];
  /** The values that were tried, by label. */
  domain: Domain;
  /** Number of kinds of alerts that this makes. */
  tried: number;
};

/** More combinations than this are more than a table of routes for people needs. */
const maxCombinations = 20_000;

/** Takes the work for one source from what is left; false: it is too much. */
export type Spend = (domain: Domain, combinations: number) => boolean;

/** Bounds the work for all sources of a table: combinations, times the text that is compared with each. */
export function createBudget(routes: readonly AlertRoute[]): Spend {
  const cost = 10_000 + JSON.stringify(routes).length;
  let left = 1_000_000_000;
  return (domain, combinations) => {
    left -= combinations * (cost + JSON.stringify(domain).length);
    return left >= 0;
  };
}

/** Throws a RangeError when a source's labels have more combinations than can be tried. */
export function coverSource(
  source: AlertSource,
  routes: readonly AlertRoute[],
  spend = createBudget(routes),
): Coverage {
  const domain = domainOf(source, routes);
  const kinds = combineDomain(domain, spend).map((labels) => ({
    labels,
    takers: takersOf(source, labels, routes),
  }));
  const byTakers = Map.groupBy(kinds, ({ takers }) => takers.join("\n"));
  const coverage: Coverage = { holes: [], overlaps: [], domain, tried: kinds.length };
  for (const alike of byTakers.values()) {
    const takers = alike[0]?.takers ?? [];
    if (takers.length === 1) continue;
    for (const labels of describe(
      alike.map(({ labels }) => labels),
      domain,
    )) {
      const region = { source: source.name, labels };
      if (takers.length === 0) coverage.holes.push(region);
      else coverage.overlaps.push({ ...region, routes: takers });
    }
  }
  return coverage;
}

type Labels = Record<string, string>;
type Domain = Record<string, string[]>;

/** Returns every label that matters for the source, with every value that may make a difference. */
function domainOf(source: AlertSource, routes: readonly AlertRoute[]): Domain {
  const conditions = routes
    .flatMap((route) => route.sources)
    .filter((entry) => entry.source === source.name)
    .flatMap((entry) => entry.conditions);
  const names = new Set([...Object.keys(source.labels), ...conditions.map(({ label }) => label)]);
  const valuesOf = (name: string) => {
    const onLabel = conditions.filter(({ label }) => label === name);
    const named = onLabel.flatMap((one) => ("values" in one ? one.values : []));
    return [...new Set([...(source.labels[name] ?? []), ...named]), anyOther, notSet];
  };
  return Object.fromEntries([...names].map((name) => [name, valuesOf(name)]));
}

/** Returns every combination of the values, `anyOther` and `notSet` among them. Throws a RangeError for too many. */
export function combineDomain(domain: Domain, spend: Spend = () => true): Labels[] {
  const size = Object.values(domain).reduce((product, values) => product * values.length, 1);
  if (size > maxCombinations || !spend(domain, size)) {
    const names = Object.keys(domain).join(", ");
    throw new RangeError(`${names}: ${size} combinations of values are too many to try`);
  }
  return Object.entries(domain).reduce<Labels[]>(
    (rows, [name, values]) =>
      rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
    [{}],
  );
}

/** A value that an alert can have; for `anyOther` one that is not in `named`. */
export function standIn(value: string, named: readonly string[]): string {
  if (value !== anyOther) return value;
  let other = "other";
  while (named.includes(other)) other += "-other";
  return other;
}

/** The names of the routes that take the alert. */
function takersOf(source: AlertSource, labels: Labels, routes: readonly AlertRoute[]): string[] {
  const simulation = simulate({ source: source.name, labels: withoutUnset(labels) }, routes);
  return simulation.routes.filter(({ matches }) => matches).map(({ route }) => route);
}

function withoutUnset(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== notSet));
}

/** Few regions that are short to describe: a label whose value makes no difference is left out. */
function describe(alike: readonly Labels[], domain: Domain): Domain[] {
  const names = Object.keys(domain).filter((name) => !isIndifferent(name, alike, domain));
  const last = names.pop();
  if (last === undefined) return [{}];
  const byRest = Map.groupBy(alike, (labels) => JSON.stringify(names.map((name) => labels[name])));
  return [...byRest.values()].map((group) => {
    const first = group[0] as Labels;
    const rest = names.map((name): [string, string[]] => [name, [first[name] ?? ""]]);
    const values = [...new Set(group.map((labels) => labels[last] ?? ""))];
    return Object.fromEntries([...rest, [last, values]]);
  });
}

/** True if `alike` has every combination also with every other value of the label. */
function isIndifferent(name: string, alike: readonly Labels[], domain: Domain): boolean {
  const rest = ({ [name]: _, ...others }: Labels) => JSON.stringify(others);
  const counts = new Map<string, number>();
  for (const labels of alike) counts.set(rest(labels), (counts.get(rest(labels)) ?? 0) + 1);
  const all = domain[name]?.length;
  return [...counts.values()].every((count) => count === all);
}
