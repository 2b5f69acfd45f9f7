/** Reads a file of definitions, without a running program. */
import { stringify } from "yaml";
import { findUnknownChannels } from "#app/fleets.ts";
import { findOff, findSilent } from "#app/monitor-secrets.ts";
import { printAnswer } from "#cli/print.ts";
import { readConfig } from "#config.ts";
import { checkFile, readFileDefinitions } from "#definitions/commands.ts";
import {
  type DefinitionSet,
  emptySet,
  type Section,
  sectionNames,
} from "#definitions/rows/contract.ts";
import { withRuleLabels } from "#monitor/commands.ts";
import type { Definitions } from "#monitor/contract.ts";
import { runRouteTests, toRoutingTable } from "#routing/commands.ts";
import { describeWarnings } from "./report-changes.ts";

type Options = { config?: string; json: boolean };

type FileCheck = Awaited<ReturnType<typeof checkFile>>;
type Rows = Readonly<Record<Section, readonly object[]>>;

/** Exit code 0: no mistakes; 1: there are some. */
export async function check({ config, json }: Options): Promise<number> {
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
export async function printRows({ config, json }: Options): Promise<number> {
  const settings = readConfig({ environment: process.env });
  const { set, removed, files } = await readFileDefinitions(settings, config);
  return printAnswer({ files, removed, definitions: set }, json, () =>
    stringify(set, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd(),
  );
}
