/** Suggests a route that takes the alerts that no other route takes, as a row to paste. */
import type { AlertRoute, AlertSource, Condition } from "./contract.ts";
import { anyOther, type Coverage, notSet } from "./coverage.ts";

/** Posts the holes of `source` to the channel that its other alerts go to, and pages nobody. */
export function suggestCatchAll(
  source: AlertSource,
  { holes, domain }: Pick<Coverage, "holes" | "domain">,
  routes: readonly AlertRoute[],
): AlertRoute {
  const takesIt = routes.filter((route) =>
    route.sources.some((entry) => entry.source === source.name),
  );
  const sources = holes
    .flatMap(({ labels }) =>
      cross(Object.entries(labels).map(([l, v]) => conditionsFor(l, v, domain))),
    )
    .map((conditions) => ({ source: source.name, conditions }));
  return {
    name: freeName(`Other Alerts of ${source.title}`, routes),
    sources,
    escalation: null,
    channel: (takesIt[0] ?? routes[0])?.channel ?? "#alerts",
  };
}

/** Alternatives that match exactly these values. `none_of` comes with `is_set`: of a missing label it is undocumented. */
function conditionsFor(label: string, values: string[], domain: Coverage["domain"]): Condition[][] {
  const ways: Condition[][] = [];
  const named = values.filter((value) => value !== anyOther && value !== notSet);
  if (values.includes(anyOther)) {
    const others = (domain[label] ?? []).filter(
      (value) => !values.includes(value) && value !== notSet,
    );
    const noneOf: Condition[] =
      others.length === 0 ? [] : [{ label, operation: "none_of", values: others }];
    ways.push([{ label, operation: "is_set" }, ...noneOf]);
  } else if (named.length > 0) {
    ways.push([{ label, operation: "one_of", values: named }]);
  }
  if (values.includes(notSet)) ways.push([{ label, operation: "is_not_set" }]);
  return ways;
}

function cross(labels: Condition[][][]): Condition[][] {
  return labels.reduce<Condition[][]>(
    (rows, ways) => rows.flatMap((row) => ways.map((way) => [...row, ...way])),
    [[]],
  );
}

function freeName(wanted: string, routes: readonly AlertRoute[]): string {
  const taken = new Set(routes.map(({ name }) => name));
  let name = wanted;
  for (let count = 2; taken.has(name); count += 1) name = `${wanted} ${count}`;
  return name;
}

/** The row as source text for `routes.ts`. */
export function printRow(route: AlertRoute): string {
  const sources = route.sources.map(
    ({ source, conditions }) =>
      `      { source: ${quote(source)}, conditions: ${list(conditions)} },`,
  );
  return [
    "  {",
    `    name: ${quote(route.name)},`,
    "    sources: [",
    ...sources,
    "    ],",
    `    escalation: ${quote(route.escalation)},`,
    `    channel: ${quote(route.channel)},`,
    "  },",
  ].join("\n");
}

function list(conditions: readonly Condition[]): string {
  return `[${conditions.map(printCondition).join(", ")}]`;
}

function printCondition(condition: Condition): string {
  const members = Object.entries(condition).map(([name, value]) => {
    const text = Array.isArray(value) ? `[${value.map(quote).join(", ")}]` : quote(value);
    return `${name}: ${text}`;
  });
  return `{ ${members.join(", ")} }`;
}

function quote(value: string | null): string {
  return JSON.stringify(value);
}
