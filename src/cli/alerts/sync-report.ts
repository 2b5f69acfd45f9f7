/** Prints plans of alert routes, and the outcome of an apply. */
import { createTable, plain } from "#cli/table.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import type {
  ApplyResult,
  FieldChange,
  Json,
  Plan,
  RoutesStatus,
  ThreeWayChange,
} from "#routing/incident/contract.ts";

type Names = Plan["names"];

export function describePlan({ routes, orphans, doubled, names }: Plan): string {
  const changed = routes.filter(({ action }) => action !== "none");
  const parts = changed.map(({ name, action, changes }) =>
    [`${action} ${plain(name)}`, ...changes.map((change) => describeChange(change, names))].join(
      "\n",
    ),
  );
  const left = orphans.map(
    (name) => `${plain(name)} is ours and has no row any more: alerts apply --prune disables it`,
  );
  const same = routes.length - changed.length;
  const sum =
    changed.length === 0
      ? `all ${routes.length} routes are in step`
      : `${countOf(changed, "create")} to create, ${countOf(changed, "update")} to update, ${same} in step`;
  return [...parts, ...left, ...describeDoubled(doubled), sum].join("\n\n");
}

function describeDoubled(doubled: Plan["doubled"]): string[] {
  return doubled.map(({ advice }) => plain(advice));
}

function countOf(routes: Plan["routes"], wanted: string): number {
  return routes.filter(({ action }) => action === wanted).length;
}

function describeChange({ path, before, after }: FieldChange, names: Names): string {
  const lines = [
    ...(before === null ? [] : [`    - ${describeValue(before, names)}`]),
    ...(after === null ? [] : [`    + ${describeValue(after, names)}`]),
  ];
  return [`  ${nameIds(path, names)}`, ...lines].join("\n");
}

export function describeApply(
  { routes, doubled, outcome, backup }: ApplyResult,
  { names }: Plan,
): string {
  const table = createTable(["route", "outcome", ""]);
  for (const { name, outcome, message = "" } of routes) {
    table.push([plain(name), outcome.replace("_", " "), plain(message)]);
  }
  const differences = routes.flatMap(({ name, difference = [] }) =>
    difference.length === 0
      ? []
      : [[plain(name), ...difference.map((one) => describeThreeWays(one, names))].join("\n")],
  );
  const kept = routes.flatMap(({ name, differs = [] }) =>
    differs.length === 0
      ? []
      : [
          [
            `${plain(name)}, from its present content to the wanted one:`,
            ...differs.map((one) => describeChange(one, names)),
          ].join("\n"),
        ],
  );
  const end = outcome === "applied" ? "all routes are as planned" : "not all routes are as planned";
  const back = backup === null ? "" : `; to undo this: alerts restore ${backup}`;
  return [
    String(table),
    ...differences,
    ...kept,
    ...describeDoubled(doubled),
    `${end}${back}`,
  ].join("\n\n");
}

function describeThreeWays({ path, by, base, theirs, ours }: ThreeWayChange, names: Names): string {
  return [
    `  ${nameIds(path, names)}, changed by ${by}`,
    `    was    ${describeValue(base, names)}`,
    `    theirs ${describeValue(theirs, names)}`,
    `    ours   ${describeValue(ours, names)}`,
  ].join("\n");
}

export function describeStatus(status: RoutesStatus): string {
  const { applying, last_apply, drift, owned, creations } = status;
  const lines = [
    ...(applying === null
      ? []
      : [
          `an apply is running, by ${plain(callerWords(applying.by))}: ${applying.routes.length} of ${applying.total} routes`,
        ]),
    last_apply === null
      ? "nothing was applied yet"
      : `last apply: ${last_apply.outcome} at ${formatUtc(last_apply.ended_at)}, by ${plain(callerWords(last_apply.by))}`,
    describeDrift(drift),
    ...(drift === null ? [] : describeDoubled(drift.doubled)),
    ...Object.entries(creations).map(([name, { begun_at }]) => describeCreation(name, begun_at)),
    `ours: ${Object.keys(owned).map(plain).join(", ") || "none"}`,
  ];
  return lines.join("\n");
}

function describeCreation(name: string, since: string): string {
  const what = `the creation of ${plain(name)} was requested at ${formatUtc(since)} and not confirmed`;
  return `${what}: the next alerts apply looks for the route`;
}

function describeDrift(drift: RoutesStatus["drift"]): string {
  if (drift === null) return "drift: not checked yet";
  const { state, routes, reason, checked_at } = drift;
  const which = routes.map(({ name, why }) => `${plain(name)} (${why.replace("_", " ")})`);
  const detail = reason === undefined ? which.join(", ") : plain(reason);
  return `drift: ${state.replace("_", " ")} at ${formatUtc(checked_at)}${detail === "" ? "" : `: ${detail}`}`;
}

function describeValue(value: Json, names: Names): string {
  return value === null ? "nothing" : nameIds(JSON.stringify(value), names);
}

/** Adds the name after each id. Removes control characters, because others have written the text. */
function nameIds(text: string, names: Names): string {
  return plain(text).replaceAll(/"([^"]+)"|\[([^\][",]+)\]/g, (whole, literal, bracketed) => {
    // An attribute is referred to as alert.attributes.<id>.
    const name = names[(literal ?? bracketed).split(".").at(-1)];
    return name === undefined ? whole : `${whole} (${name})`;
  });
}
