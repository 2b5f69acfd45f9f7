/** Reads and checks a file of definitions for commands, without a server. */
import type { ShowAnswer } from "#definitions/contract.ts";
import { type AddedRow, addRow } from "#definitions/edit/add-row.ts";
import { DefinitionsError, type Fault, lineOf } from "#definitions/file/fault.ts";
import { type NewRow, type ReadDefinitions, readDefinitions } from "#definitions/file/read.ts";
import { findFile } from "#definitions/file/source.ts";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import type { Finding } from "#definitions/rules/lint.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { planApply } from "#definitions/rules/plan.ts";
import { type StandardSettings, standardSet } from "#definitions/standard/standard.ts";
import type { Definitions } from "#monitor/contract.ts";

export type { AddedRow };

type Settings = StandardSettings & { definitions: { file: string } };

/** Reads the named file, the settings' or the working directory's, else returns the standard rows. Throws a line per fault. */
export function readFileDefinitions(
  settings: Settings,
  named: string | undefined,
): Promise<ReadDefinitions> {
  return readDefinitions(requestOf(settings, named));
}

function requestOf(settings: Settings, named: string | undefined) {
  const file = named ?? settings.definitions.file;
  return {
    ...(file !== "" && { file }),
    directory: process.cwd(),
    standard: standardSet(settings),
  };
}

/** The rows alone. */
export async function readFileRows(settings: Settings): Promise<DefinitionSet> {
  return (await readFileDefinitions(settings, undefined)).set;
}

/** The same as the monitor takes them, too. */
export async function readFileChecks(settings: Settings) {
  const rows = await readFileRows(settings);
  return { rows, ...toMonitored(rows) };
}

/** A fault, and the line that shows it. */
type ShownFault = Fault & { line: string };

/** Faults that definitions without a mistake have by the rules of others. */
type FindMore = (set: DefinitionSet, monitored: Definitions) => Finding[];

/** Does the same as `readFileDefinitions`, but returns faults as a value, and those of `findMore`. */
export async function checkFile(
  settings: Settings,
  named: string | undefined,
  findMore: FindMore,
): Promise<{ read: ReadDefinitions; faults: [] } | { read?: never; faults: ShownFault[] }> {
  try {
    const read = await readFileDefinitions(settings, named);
    const more = findMore(read.set, toMonitored(read.set));
    if (more.length > 0) throw new DefinitionsError(more.map(read.faultOf));
    return { read, faults: [] };
  } catch (error) {
    if (!(error instanceof DefinitionsError)) throw error;
    return { faults: error.faults.map((fault) => ({ ...fault, line: lineOf(fault) })) };
  }
}

/** Adds a row, or returns what is to be pasted. Throws an error that says what to do; nothing is written then. */
export function addRowToFile(
  settings: Settings,
  named: string | undefined,
  row: NewRow,
): Promise<AddedRow> {
  return addRow(requestOf(settings, named), row);
}

type Shown = Pick<ShowAnswer, "revision" | "definitions">;

/** The definitions in force, and those after an apply of the file; both as the monitor takes them, too. Throws without a file. */
export async function compareWithFile(
  { settings, named, prune }: { settings: Settings; named: string | undefined; prune: boolean },
  { revision, definitions }: Shown,
) {
  const { set, removed, files } = await readFileDefinitions(settings, named);
  if (files.length === 0) throw new Error("there is no vedette.config.* here: name the file");
  const today = { ...emptySet, ...definitions } as unknown as DefinitionSet;
  // The standard rows, before a first apply, are not among those that it leaves.
  const present = revision === 0 ? emptySet : today;
  const { next } = planApply(present, { definitions: set, removed, prune });
  const withMonitored = (rows: DefinitionSet) => ({ rows, monitored: toMonitored(rows) });
  return { today: withMonitored(today), file: withMonitored(next) };
}

/** The file of definitions in a directory; undefined: there is none. Throws when there are several. */
export function findDefinitions(directory: string): string | undefined {
  return findFile(directory);
}
