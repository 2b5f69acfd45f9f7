/** Reads a file of definitions, compares it with those of a running program, and applies it. */
import { stringify } from "yaml";
import { findUnknownChannels } from "#app/fleets.ts";
import { findOff, findSilent } from "#app/monitor-secrets.ts";
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { readConfig } from "#config.ts";
import { checkFile, readFileDefinitions } from "#definitions/commands.ts";
import {
  type ApplyAnswer,
  type Change,
  definitionsHandlers,
  definitionsKey,
  definitionsService,
  type PlanAnswer,
} from "#definitions/contract.ts";
import {
  type DefinitionSet,
  emptySet,
  type Section,
  sectionNames,
} from "#definitions/rows/contract.ts";
import { someOf } from "#kernel/text.ts";
import { withRuleLabels } from "#monitor/commands.ts";
import type { Definitions } from "#monitor/contract.ts";
import { runRouteTests, toRoutingTable } from "#routing/commands.ts";

type FileOptions = { config?: string; json: boolean };

type FileCheck = Awaited<ReturnType<typeof checkFile>>;
type Rows = Readonly<Record<Section, readonly object[]>>;

/** Exit code 0: no mistakes; 1: there are some. */
export async function check({ config, json }: FileOptions): Promise<number> {
  const settings = readConfig({ environment: process.env });
  const checked = await checkFile(settings, config, testRoutes);
  const set = checked.read?.set ?? emptySet;
  const off = [...findOff(set, settings), ...findSilent(set, settings)];
  const warnings = [
    ...findUnknownChannels(settings, set.channels),
    ...off.filter(({ message }) => message.includes("VEDETTE_SECRET_")),
  ];
  printAnswer({ ...forPrograms(checked), warnings }, json, () =>
    [forPeople(checked), ...describeWarnings({ warnings })].join("\n"),
  );
  return checked.faults.length === 0 ? 0 : 1;
}

function testRoutes(set: DefinitionSet, monitored: Definitions) {
  const failed = runRouteTests(toRoutingTable(set, withRuleLabels(monitored)));
  return failed.map(({ route: key, index, message }) => ({
    section: "routes" as const,
    key,
    field: ["tests", index],
    message,
  }));
}

function countTests(routes: DefinitionSet["routes"]): string {
  const count = routes.reduce((sum, { tests = [] }) => sum + tests.length, 0);
  if (count === 0) return "";
  return `; ${count} ${nounOf("tests", count)} of routes passed`;
}

function forPrograms({ read, faults }: FileCheck) {
  const shown = faults.map(({ file, place, where, message }) => ({
    file,
    line: place?.line ?? null,
    column: place?.column ?? null,
    where,
    message,
  }));
  if (read === undefined) return { faults: shown };
  return { files: read.files, rows: countRows(read.set), faults: shown };
}

function forPeople({ read, faults }: FileCheck): string {
  if (read === undefined) {
    const count = faults.length === 1 ? "1 mistake" : `${faults.length} mistakes`;
    return [...faults.map(({ line }) => line), count].join("\n");
  }
  const counts = Object.entries(countRows(read.set)).filter(([, count]) => count > 0);
  const rows = counts.map(([section, count]) => `${count} ${nounOf(section, count)}`).join(", ");
  const where = read.files.length === 0 ? "no vedette.config.* here" : read.files.join(", ");
  const which = read.files.length === 0 ? "the standard rows apply" : "no mistakes";
  return `${where}: ${which} (${rows || "no rows"})${countTests(read.set.routes)}`;
}

function countRows(set: Rows): Record<string, number> {
  return Object.fromEntries(sectionNames.map((section) => [section, set[section].length]));
}

/** `checks` of two, `check` of one. */
function nounOf(section: string, count: number): string {
  return count === 1 ? section.replace(/s$/, "") : section;
}

/** Prints the rows as YAML that is a file of definitions itself. */
export async function printRows({ config, json }: FileOptions): Promise<number> {
  const settings = readConfig({ environment: process.env });
  const { set, removed, files } = await readFileDefinitions(settings, config);
  return printAnswer({ files, removed, definitions: set }, json, () =>
    stringify(set, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd(),
  );
}

type ApplyOptions = GlobalOptions & { config?: string; prune: boolean };

/** Exit code 0: the program is as the file says; 2: it is not. */
export async function plan(options: ApplyOptions): Promise<number> {
  const planned = await ask(connect(options), await requestOf(options));
  printAnswer(planned, options.json, () =>
    [describeChanges(planned, "plan"), ...describeWarnings(planned)].join("\n"),
  );
  return planned.changes.length === 0 ? 0 : 2;
}

/** Exit code 0: the program is as the file says; 2: rows that the file lacks are left, for want of --prune. */
export async function apply(options: ApplyOptions): Promise<number> {
  const connection = connect(options);
  const request = await requestOf(options);
  const { revision } = await ask(connection, request);
  const applied = await callApply(connection, { ...request, base_revision: revision });
  printAnswer(applied, options.json, () => describeChanges(applied, "apply"));
  return applied.changes.some(({ kind }) => kind === "leave") ? 2 : 0;
}

async function requestOf({ config, prune }: ApplyOptions) {
  const settings = readConfig({ environment: process.env });
  const { set, removed } = await readFileDefinitions(settings, config);
  return { definitions: set, removed, prune };
}

const addressOf = (handler: keyof typeof definitionsHandlers) =>
  `${definitionsService}/${definitionsKey}/${handler}`;

function ask(connection: Connection, request: object): Promise<PlanAnswer> {
  return connection.call(addressOf("Plan"), request, definitionsHandlers.Plan.output);
}

function callApply(connection: Connection, request: object): Promise<ApplyAnswer> {
  return connection.call(addressOf("Apply"), request, definitionsHandlers.Apply.output);
}

type Changes = { revision: number; changes: readonly Change[] };

const words: Record<Change["kind"], { plan: string; apply: string }> = {
  add: { plan: "add", apply: "added" },
  change: { plan: "change", apply: "changed" },
  remove: { plan: "remove", apply: "removed" },
  leave: { plan: "leave", apply: "left" },
};

export function describeChanges({ revision, changes }: Changes, of: "plan" | "apply"): string {
  if (changes.length === 0) return `Revision ${revision} is as the file says: nothing to change.`;
  const table = createTable(["", "row", "fields"]);
  for (const { section, key, kind, fields = [] } of changes) {
    table.push([words[kind][of], plain(`${section}.${key}`), fields.join(", ")]);
  }
  const left = changes.filter(({ kind }) => kind === "leave").length;
  const hint = `${left} ${left === 1 ? "row" : "rows"} of the program, which the file lacks: --prune removes them.`;
  return [String(table), summaryOf({ revision, changes }, of), ...(left > 0 ? [hint] : [])].join(
    "\n",
  );
}

function summaryOf({ revision, changes }: Changes, of: "plan" | "apply"): string {
  const count = (kind: Change["kind"]) => changes.filter((change) => change.kind === kind).length;
  const numbers = `${count("add")} to add, ${count("change")} to change, ${count("remove")} to remove`;
  return of === "plan"
    ? `Against revision ${revision}: ${numbers}.`
    : `Revision ${revision} is in force.`;
}

/** A line for each cause; nothing without warnings. */
export function describeWarnings({ warnings }: Pick<PlanAnswer, "warnings">): string[] {
  const causes = Map.groupBy(warnings, ({ message, key }) => message.replaceAll(key, "<id>"));
  return [...causes].map(([cause, found]) => {
    const [only] = found;
    const names = found.map(({ section, key }) => `${section}.${key}`);
    const message = found.length === 1 && only !== undefined ? only.message : cause;
    return plain(`warning: ${someOf(names, 5)}: ${message}`);
  });
}
