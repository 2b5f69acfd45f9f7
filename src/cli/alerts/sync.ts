/** Commands that keep alert routes in step: plans are made here, and applied by a running Vedette. */
import { existsSync, readFileSync } from "node:fs";
import type { z } from "zod";
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, print, printAnswer, printJson } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { readConfig } from "#config.ts";
import { readFileRows } from "#definitions/commands.ts";
import { writeFileAtomically } from "#kernel/files.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import { planAlertRestore, planAlertRoutes } from "#routing/incident/commands.ts";
import {
  type ApplyRequest,
  type ApplyResult,
  alertRoutesHandlers,
  alertRoutesKey,
  alertRoutesName,
  Backup,
  type FieldChange,
  type Json,
  Plan,
  type RoutesStatus,
  type ThreeWayChange,
} from "#routing/incident/contract.ts";

type Names = Plan["names"];

/** Prints plans of alert routes, and the outcome of an apply. */
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

type Handlers = typeof alertRoutesHandlers;
type Output<Name extends keyof Handlers> = z.infer<Handlers[Name]["output"]>;

type PlanOptions = GlobalOptions & { config?: string; out?: string };

export async function plan(options: PlanOptions): Promise<number> {
  const planned = await makePlan(options, await findOwned(options));
  if (options.out !== undefined) {
    writeFileAtomically(options.out, `${JSON.stringify(planned, null, 2)}\n`);
  }
  return showPlan(planned, options);
}

function showPlan(planned: Plan, { json }: GlobalOptions): number {
  printAnswer(planned, json, () => describePlan(planned));
  const isChange = planned.routes.some(({ action }) => action !== "none");
  return isChange || planned.doubled.length > 0 ? 2 : 0;
}

type ApplyOptions = PlanOptions & Pick<ApplyRequest, "adopt" | "prune">;

/** Exit code 0: all routes are as planned, and the only ones of their names; else 1. */
export async function apply(file: string | undefined, options: ApplyOptions): Promise<number> {
  const connection = connect(options);
  // Called first, so that the command fails at once when Vedette does not run.
  const { owned } = await ask(connection, "Status", {});
  const planned =
    file === undefined ? await makePlan(options, owned) : readDocument(file, Plan, "plan");
  const { adopt, prune } = options;
  const result = await applyPlan(connection, { plan: planned, adopt, prune }, options);
  return result.outcome === "applied" && result.doubled.length === 0 ? 0 : 1;
}

/** Exit code 0: every route of the backup is as in the backup; 2: some are not. */
type RestoreOptions = PlanOptions & { dryRun: boolean };

export async function restore(wanted: string, options: RestoreOptions): Promise<number> {
  const backup = existsSync(wanted)
    ? readDocument(wanted, Backup, "backup")
    : await ask(connect(options), "Backup", { backup: wanted });
  const planned = await planAlertRestore(incidentOf(options), backup);
  if (options.dryRun) return showPlan(planned, options);
  const request = { plan: planned, adopt: false, prune: false };
  const result = await applyPlan(connect(options), request, options);
  return result.outcome === "applied" ? 0 : 2;
}

export async function listBackups(options: GlobalOptions): Promise<number> {
  const { backups } = await ask(connect(options), "Backups", {});
  if (options.json) {
    printJson({ backups });
    return 0;
  }
  const table = createTable(["backup", "made at", "routes"]);
  for (const { backup, made_at, alert_routes } of backups) {
    table.push([backup, made_at, alert_routes]);
  }
  print(backups.length === 0 ? "nothing was applied yet" : String(table));
  return 0;
}

export async function showStatus(options: GlobalOptions): Promise<number> {
  const status = await ask(connect(options), "Status", {});
  return printAnswer(status, options.json, describeStatus);
}

async function applyPlan(
  connection: Connection,
  request: ApplyRequest,
  { json }: GlobalOptions,
): Promise<ApplyResult> {
  const { output } = alertRoutesHandlers.Apply;
  const result = await connection.callToEnd(addressOf("Apply"), request, output);
  printAnswer(result, json, () => describeApply(result, request.plan));
  return result;
}

async function makePlan(options: PlanOptions, owned: RoutesStatus["owned"]): Promise<Plan> {
  const settings = readConfig({ file: options.config, environment: process.env });
  const planned = await planAlertRoutes(settings.incident, await readFileRows(settings), owned);
  if ("plan" in planned) return planned.plan;
  throw new Error(planned.faults.join("\n"));
}

function incidentOf({ config }: PlanOptions) {
  return readConfig({ file: config, environment: process.env }).incident;
}

/** A plan needs no running Vedette; but without one, routes that were renamed by hand are not found. */
async function findOwned(options: GlobalOptions): Promise<RoutesStatus["owned"]> {
  try {
    return (await ask(connect(options), "Status", {})).owned;
  } catch (error) {
    complain(`routes are matched by name alone: ${(error as Error).message}`);
    return {};
  }
}

function addressOf(handler: keyof Handlers): string {
  return `${alertRoutesName}/${alertRoutesKey}/${handler}`;
}

async function ask<Name extends keyof Handlers>(
  connection: Connection,
  handler: Name,
  body: z.input<Handlers[Name]["input"]>,
): Promise<Output<Name>> {
  const { output } = alertRoutesHandlers[handler];
  return (await connection.call(addressOf(handler), body, output)) as Output<Name>;
}

function readDocument<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
  what: string,
): z.infer<Schema> {
  if (!existsSync(file)) throw new Error(`${file} does not exist`);
  try {
    return schema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (cause) {
    throw new Error(`${file} is not a ${what} of alert routes`, { cause });
  }
}
