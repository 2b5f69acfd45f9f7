/** What an apply would do: rows, or a backup, held against what is there. */
import type {
  Backup,
  Content,
  Doubled,
  Owned,
  Plan,
  RoutePlan,
} from "#alerting/routes-sync-contract.ts";
import { digestOf, toContent } from "./content.ts";
import { declareRoute, newRoute } from "./declared.ts";
import { diffContent } from "./diff.ts";
import { findDoubled } from "./doubled.ts";
import type { GivenIds } from "./ids-file.ts";
import { isInStep, overlay } from "./overlay.ts";
import { type Rows, resolveIds } from "./resolve.ts";
import type { Found } from "./service.ts";
import type { Survey } from "./survey.ts";

type Head = Pick<Plan, "incident_url" | "made_at">;

/** `faults` has those of `doubled` that keep a plan from being made. */
export type Planned = { plan: Plan } | { faults: string[]; doubled: Doubled[] };

export type RowsToPlan = {
  rows: Rows;
  given: GivenIds;
  survey: Survey;
  /** Routes of ours, by name. Empty when that is not known: then they are found by name alone. */
  owned: Readonly<Record<string, Owned>>;
};

/** `faults`: names that have no id, one line each; then nothing can be planned. */
export function planRows({ rows, given, survey, owned }: RowsToPlan, head: Head): Planned {
  const { ids, names, faults } = resolveIds(rows, given, survey.directory);
  const bearers = rows.routes.map(({ name }) => ({ name, ours: owned[name]?.id ?? null }));
  const doubled = findDoubled(bearers, survey.routes);
  const ambiguous = doubled.flatMap(({ ours, advice }) => (ours === null ? [advice] : []));
  if (faults.length + ambiguous.length > 0) return { faults: [...faults, ...ambiguous], doubled };
  const routes = rows.routes.map((row) => {
    const found = findRemote(survey.routes, { name: row.name, id: owned[row.name]?.id });
    return planRoute(row.name, declareRoute(row, ids), found);
  });
  const known = new Set(rows.routes.map(({ name }) => name));
  const orphans = Object.keys(owned).filter((name) => !known.has(name));
  const format = "vedette-alert-plan-1";
  return { plan: { format, ...head, of: "routes", routes, orphans, doubled, names } };
}

export function planBackup(backup: Backup, routes: readonly Found[], head: Head): Plan {
  const planned = backup.alert_routes.map((detail) => {
    const { id, name } = detail;
    const wanted = { name: String(name), id: typeof id === "string" ? id : undefined };
    return planRoute(wanted.name, toContent(detail), findRemote(routes, wanted));
  });
  const format = "vedette-alert-plan-1";
  return { format, ...head, of: "backup", routes: planned, orphans: [], doubled: [], names: {} };
}

function planRoute(name: string, declared: Content, found: Found | undefined): RoutePlan {
  if (found === undefined) {
    const changes = diffContent({}, overlay(newRoute, declared));
    return { name, action: "create", id: null, base: null, declared, changes };
  }
  const { id, version, content } = found;
  const isSame = isInStep(content, declared);
  const base = { version, digest: digestOf(content), content };
  const changes = diffContent(content, overlay(content, declared));
  return { name, action: isSame ? "none" : "update", id, base, declared, changes };
}

type Wanted = { name: string; id: string | undefined };

/** By id, since people rename routes; one that is gone is looked for by name. */
function findRemote(routes: readonly Found[], { name, id }: Wanted): Found | undefined {
  return routes.find((route) => route.id === id) ?? routes.find((route) => isNamed(route, name));
}

function isNamed({ content }: Found, name: string): boolean {
  return content["name"] === name;
}

export function hasChanges({ routes }: Plan): boolean {
  return routes.some(({ action }) => action !== "none");
}
