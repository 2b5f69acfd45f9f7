/** Plans an apply: compares rows, or a backup, with the present routes. */
import type {
  Backup,
  OwnedRoute,
  Plan,
  RoutePlan,
  SharedName,
} from "#routing/incident/contract.ts";
import { digestOf, toContent } from "./content.ts";
import { contentOfNew, contentOver, type Goal, isReached } from "./decide.ts";
import { declareRoute, findAliases } from "./declared.ts";
import { diffContent } from "./diff.ts";
import { findDoubled } from "./doubled.ts";
import type { ConfiguredIds } from "./ids-file.ts";
import { type Rows, resolveIds } from "./resolve.ts";
import type { FoundRoute } from "./service.ts";
import type { Survey } from "./survey.ts";

type Head = Pick<Plan, "incident_url" | "made_at">;

/** `faults` includes those of `doubled` that make a plan impossible. */
export type PlanOutcome = { plan: Plan } | { faults: string[]; doubled: SharedName[] };

export type RowsToPlan = {
  rows: Rows;
  given: ConfiguredIds;
  survey: Survey;
  /** Our routes, by name. Empty when they are not known: then routes are found by name alone. */
  owned: Readonly<Record<string, OwnedRoute>>;
};

/** `faults`: names that have no id, one line each; then nothing can be planned. */
export function planRows({ rows, given, survey, owned }: RowsToPlan, head: Head): PlanOutcome {
  const { ids, names, faults } = resolveIds(rows, given, survey.directory);
  const owners = rows.routes.map(({ name }) => ({ name, ours: owned[name]?.id ?? null }));
  const doubled = findDoubled(owners, survey.routes);
  const ambiguous = doubled.flatMap(({ ours, advice }) => (ours === null ? [advice] : []));
  if (faults.length + ambiguous.length > 0) return { faults: [...faults, ...ambiguous], doubled };
  const routes = rows.routes.map((row) => {
    const found = findRemote(survey.routes, { name: row.name, id: owned[row.name]?.id });
    const [declared, aliases] = [declareRoute(row, ids), findAliases(row, ids)];
    return planRoute(row.name, { of: "routes", declared, aliases }, found);
  });
  const known = new Set(rows.routes.map(({ name }) => name));
  const orphans = Object.keys(owned).filter((name) => !known.has(name));
  const format = "vedette-alert-plan-1";
  return { plan: { format, ...head, of: "routes", routes, orphans, doubled, names } };
}

/** Throws when it is ambiguous which new route replaces a route of the backup that is gone. */
export function planBackup(backup: Backup, routes: readonly FoundRoute[], head: Head): Plan {
  const kept = new Set(backup.alert_routes.map(({ id }) => id));
  const newer = routes.filter(({ id }) => !kept.has(id));
  const planned = backup.alert_routes.map((detail) => {
    const name = String(detail["name"]);
    const found = routes.find(({ id }) => id === detail["id"]) ?? findSuccessor(newer, name);
    return planRoute(name, { of: "backup", declared: toContent(detail) }, found);
  });
  checkSuccessors(planned);
  const format = "vedette-alert-plan-1";
  return { format, ...head, of: "backup", routes: planned, orphans: [], doubled: [], names: {} };
}

/** A route of that name that was created after the backup, by hand or by an apply. */
function findSuccessor(newer: readonly FoundRoute[], name: string): FoundRoute | undefined {
  const named = newer.filter((route) => isNamed(route, name));
  if (named.length < 2) return named[0];
  const ids = named.map(({ id }) => id).join(", ");
  throw new Error(`there are ${named.length} routes named "${name}" (${ids}): keep one`);
}

function checkSuccessors(planned: readonly RoutePlan[]): void {
  const ids = planned.flatMap(({ id }) => id ?? []);
  const twice = planned.find(({ id }) => id !== null && ids.indexOf(id) !== ids.lastIndexOf(id));
  if (twice === undefined) return;
  const problem = `the backup has several routes named "${twice.name}", and ${twice.id} was made since`;
  throw new Error(`${problem}: rename or delete it`);
}

function planRoute(name: string, goal: Goal, found: FoundRoute | undefined): RoutePlan {
  const { of: _of, ...wanted } = goal;
  if (found === undefined) {
    const changes = diffContent({}, contentOfNew(goal));
    return { name, action: "create", id: null, base: null, ...wanted, changes };
  }
  const { id, version, content } = found;
  const isSame = isReached(content, goal);
  const base = { version, digest: digestOf(content), content };
  const changes = diffContent(content, contentOver(content, goal));
  return { name, action: isSame ? "none" : "update", id, base, ...wanted, changes };
}

type RouteName = { name: string; id: string | undefined };

/** Finds a route by id, since people rename routes; by name when the id is gone. */
function findRemote(
  routes: readonly FoundRoute[],
  { name, id }: RouteName,
): FoundRoute | undefined {
  return routes.find((route) => route.id === id) ?? routes.find((route) => isNamed(route, name));
}

function isNamed({ content }: FoundRoute, name: string): boolean {
  return content["name"] === name;
}

export function hasChanges({ routes }: Plan): boolean {
  return routes.some(({ action }) => action !== "none");
}
