/** Finds mistakes in the rows of routes and sources, without calling any service. */
import { printRow, suggestCatchAll } from "./catch-all.ts";
import type { AlertRoute, AlertSource } from "./contract.ts";
import { type Coverage, coverSource, createBudget, type Region, type Spend } from "./coverage.ts";
import { simulate } from "./match.ts";

/** Every such alert pages someone (docs/architecture.md, "Decisions"). */
export const mustPage: readonly { source: string; labels: Record<string, string> }[] = [
  { source: "alertmanager-production", labels: { severity: "critical" } },
  { source: "synthetic-production", labels: {} },
  { source: "critical-mailbox", labels: {} },
  { source: "dashboard-alerting", labels: {} },
  { source: "database-host", labels: { branch: "main" } },
];

/** Alerts that are meant to notify nobody: the condition of their route leaves them out on purpose. */
export const leftOut: readonly { source: string; label: string; because: string }[] = [
  { source: "database-host", label: "branch", because: "only the main branch serves anyone" },
];

/** An error: the wrong people are paged, or nobody is. A warning may be intended. */
type Finding = {
  level: "error" | "warning";
  about: string;
  message: string;
  /** The row that fixes it, as source text for `routes.ts`. */
  paste?: string;
};

export type Table = {
  sources: readonly AlertSource[];
  routes: readonly AlertRoute[];
  mustPage: typeof mustPage;
  leftOut: typeof leftOut;
  /** Names that have an id at the incident service; absent: not looked up. */
  known?: { escalations?: readonly string[]; channels?: readonly string[] };
};

export type LintReport = {
  findings: Finding[];
  /** Number of kinds of alerts that were simulated to find those that no route takes. */
  tried: number;
};

/** Errors first. */
export function lintRoutes(table: Table): LintReport {
  const spend = createBudget(table.routes);
  const covered = table.sources.map((source) => lintCoverage(source, table, spend));
  const findings = [
    ...lintNames(table),
    ...table.routes.flatMap((route) => lintRoute(route, table)),
    ...table.sources.flatMap((source) => lintSource(source, table)),
    ...table.mustPage.flatMap((required) => lintRequirement(required, table)),
    ...covered.flatMap(({ findings }) => findings),
  ];
  const isError = ({ level }: Finding) => level === "error";
  return {
    findings: [...findings.filter(isError), ...findings.filter((one) => !isError(one))],
    tried: covered.reduce((sum, { tried }) => sum + tried, 0),
  };
}

function error(about: string, message: string): Finding {
  return { level: "error", about, message };
}

function warning(about: string, message: string): Finding {
  return { level: "warning", about, message };
}

function lintNames({ sources, routes }: Table): Finding[] {
  const twice = (names: readonly string[], what: string) =>
    duplicates(names).map((name) => error(name, `${what} is taken twice`));
  return [
    ...twice(
      sources.map(({ name }) => name),
      "the name of the source",
    ),
    ...twice(
      sources.map(({ title }) => title),
      "the title of the source",
    ),
    ...twice(
      routes.map(({ name }) => name),
      "the name of the route",
    ),
  ];
}

function lintRoute(route: AlertRoute, { sources, known }: Table): Finding[] {
  const { name, escalation, channel } = route;
  const named = route.sources.map(({ source }) => source);
  const rows = named.flatMap((source) => sources.find((row) => row.name === source) ?? []);
  const unknown = named.filter((source) => !sources.some((row) => row.name === source));
  const staging = rows.filter(({ environment }) => environment === "staging");
  const errorIf = (message: string | false) => (message === false ? [] : [error(name, message)]);
  const { escalations, channels } = known ?? {};
  return [
    ...unknown.flatMap((source) => errorIf(`there is no source ${source}; sources are rows too`)),
    ...errorIf(named.length === 0 && "it takes alerts of no source"),
    ...duplicates(route.sources.map((entry) => JSON.stringify(entry))).flatMap(() =>
      errorIf("it takes the same alerts of one source twice"),
    ),
    ...errorIf(
      staging.length > 0 &&
        escalation !== null &&
        `alerts of ${staging.map((row) => row.name).join(", ")} would page ${escalation}; staging pages nobody`,
    ),
    ...errorIf(
      escalation !== null &&
        escalations?.includes(escalation) === false &&
        `the escalation path ${escalation} has no id at the incident service`,
    ),
    ...errorIf(
      channels?.includes(channel) === false &&
        `the channel ${channel} has no id in incident.ids_file`,
    ),
    ...lintConditions(route, sources),
  ];
}

function lintConditions(route: AlertRoute, sources: readonly AlertSource[]): Finding[] {
  return route.sources.flatMap(({ source, conditions }) => {
    const labels = sources.find(({ name }) => name === source)?.labels;
    if (labels === undefined) return [];
    return conditions
      .filter(({ label }) => !Object.hasOwn(labels, label))
      .map(({ label }) => error(route.name, `${source} has no label ${label}`));
  });
}

function lintSource({ name }: AlertSource, { routes }: Table): Finding[] {
  const isTaken = routes.some(({ sources }) => sources.some(({ source }) => source === name));
  return isTaken ? [] : [error(name, "no route takes its alerts: nobody is notified")];
}

function lintRequirement(
  required: Table["mustPage"][number],
  { sources, routes }: Table,
): Finding[] {
  const { source, labels } = required;
  const labelled = describeLabels(labels);
  if (!sources.some(({ name }) => name === source)) {
    return [error(source, `its alerts${labelled} have to page, and there is no such source`)];
  }
  const { pages, routes: tried } = simulate(required, routes);
  const takers = tried.filter(({ matches }) => matches).map(({ route }) => route);
  const timed = routes.find(({ name, activeTimes }) => activeTimes && takers.includes(name));
  if (pages.length > 0 && timed === undefined) return [];
  const named = takers.join(", ");
  const whyNot = takers.length === 0 ? "no route takes them" : `${named} has no escalation`;
  const why = pages.length > 0 ? `${timed?.name} sends them only at its activeTimes` : whyNot;
  return [error(takers[0] ?? source, `alerts of ${source}${labelled} have to page: ${why}`)];
}

function describeLabels(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return pairs.length === 0 ? "" : ` with ${pairs.join(" and ")}`;
}

function lintCoverage(source: AlertSource, table: Table, spend: Spend) {
  const isTaken = table.routes.some((route) =>
    route.sources.some((entry) => entry.source === source.name),
  );
  // A source that no route takes is an error already.
  if (!isTaken) return { findings: [], tried: 0 };
  try {
    const coverage = coverSource(source, table.routes, spend);
    return { findings: describeCoverage(source, coverage, table), tried: coverage.tried };
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    return { findings: [error(source.name, cause.message)], tried: 0 };
  }
}

function describeCoverage(source: AlertSource, coverage: Coverage, table: Table): Finding[] {
  const isMeant = ({ labels }: Region) =>
    Object.keys(labels).some((label) =>
      table.leftOut.some((row) => row.source === source.name && row.label === label),
    );
  const holes = coverage.holes.filter((hole) => !isMeant(hole));
  const overlaps = coverage.overlaps.map(({ routes, ...region }) =>
    warning(source.name, `${describeRegion(region)} goes to ${routes.join(" and ")}`),
  );
  if (holes.length === 0) return overlaps;
  const row = suggestCatchAll(source, { holes, domain: coverage.domain }, table.routes);
  const dropped = holes.map(describeRegion).join("; ");
  const message = `${dropped} matches no route: the alert is dropped and nobody is notified`;
  return [{ ...warning(source.name, message), paste: printRow(row) }, ...overlaps];
}

function describeRegion({ labels }: Region): string {
  const pairs = Object.entries(labels).map(([label, values]) => `${label}=${values.join(", ")}`);
  return pairs.join(" with ") || "every alert";
}

function duplicates(values: readonly string[]): string[] {
  const groups = Map.groupBy(values, (value) => value);
  return [...groups].flatMap(([value, all]) => (all.length > 1 ? value : []));
}
