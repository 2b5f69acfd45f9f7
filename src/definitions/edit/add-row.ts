/** Adds a row to the file of definitions of a directory. */
import { chmodSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DefinitionsError } from "#definitions/file/fault.ts";
import { findFile } from "#definitions/file/find-file.ts";
import { type ReadRequest, readDefinitions } from "#definitions/file/read.ts";
import { loadSource } from "#definitions/file/source.ts";
import { type DefinitionSet, keyOf } from "#definitions/rows/contract.ts";
import { addToCode } from "./code.ts";
import { addToJson } from "./json.ts";
import { literalOf } from "./literal.ts";
import { type AddRow, type NewRow, NoPlace } from "./new-row.ts";
import { addToToml } from "./toml.ts";
import { addToYaml } from "./yaml.ts";

/**
 * Returns the name of the file. Throws an error that says what to do when there is none, when the row is there
 * already, or when the file would have faults; the file is as before then.
 */
export async function addRow(request: ReadRequest, added: NewRow): Promise<string> {
  const { directory } = request;
  const given = request.file && path.resolve(directory, request.file);
  const named = given ?? findFile(directory);
  if (named === undefined) throw new Error(`there is no vedette.config.* here: ${initHint}`);
  const before = await readDefinitions({ ...request, file: named });
  refuseTaken(before.set, added);
  const name = path.relative(directory, named);
  // A link stays one.
  const file = realpathSync(named);
  const text = await edit(file, name, added);
  await replace({ file, text }, async (draft) => {
    await check({ ...request, file: draft }, { name, before: before.set, added });
  });
  return name;
}

const initHint = "`vedette init` writes one, or --config names it";

/** A row of the same id would replace that of the standard set silently. */
function refuseTaken({ checks, heartbeats, ...others }: DefinitionSet, added: NewRow): void {
  const key = keyOf(added.section, added.row);
  const isMonitored = added.section === "checks" || added.section === "heartbeats";
  const rows = isMonitored ? [...checks, ...heartbeats] : others[added.section as "channels"];
  const isTaken = rows.some((row) => keyOf(added.section, row) === key);
  if (isTaken) throw new Error(`there is a row ${key} already: choose another with --id`);
}

const editors: Record<string, AddRow> = {
  ".yaml": addToYaml,
  ".yml": addToYaml,
  ".toml": addToToml,
  ".json": addToJson,
};

async function edit(file: string, name: string, added: NewRow): Promise<string> {
  const source = await loadSource(file, name);
  try {
    return (editors[path.extname(file)] ?? addToCode)(source, added);
  } catch (cause) {
    if (cause instanceof NoPlace) throw noPlace(name, added, cause);
    throw cause;
  }
}

function noPlace(name: string, { section, row }: NewRow, cause?: unknown): Error {
  const text = literalOf(row, "", "  ");
  const reason = `${section} of ${name} is not written in a way that a row can be added to`;
  return new Error(`${reason}; add it yourself:\n${text}`, { cause });
}

/** The draft lies beside the file, since what it imports and includes is relative to it. */
async function replace(
  { file, text }: { file: string; text: string },
  check: (draft: string) => Promise<void>,
): Promise<void> {
  const { dir, name, ext } = path.parse(file);
  const draft = path.join(dir, `.${name}.${process.pid}${ext}`);
  try {
    writeFileSync(draft, text, { flush: true });
    await check(draft);
    chmodSync(draft, statSync(file).mode);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

type Expected = { name: string; before: DefinitionSet; added: NewRow };

async function check(request: ReadRequest & { file: string }, expected: Expected): Promise<void> {
  const { name, before, added } = expected;
  const { set } = await readDefinitions(request).catch((error: unknown) => {
    if (!(error instanceof DefinitionsError)) throw error;
    const faults = error.message.replaceAll(path.basename(request.file), path.basename(name));
    throw new Error(`nothing was written, since ${name} would have faults:\n${faults}`);
  });
  const { section, row } = added;
  const key = keyOf(section, row);
  const others = set[section].filter((one) => keyOf(section, one) !== key);
  const isOnlyChange = isDeepStrictEqual({ ...set, [section]: others }, before);
  if (!isOnlyChange || others.length === set[section].length) throw noPlace(name, added);
}
