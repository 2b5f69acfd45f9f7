/** Adds a row to the file of definitions of a directory, or says how it is written there. */
import { realpathSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Document, isMap, isScalar, isSeq, parseDocument } from "yaml";
import { DefinitionsError } from "#definitions/file/fault.ts";
import { type NewRow, type ReadRequest, readDefinitions } from "#definitions/file/read.ts";
import { findFile, loadSource, type Source } from "#definitions/file/source.ts";
import { yamlOptions } from "#definitions/file/yaml.ts";
import { type DefinitionSet, keyOf, sections } from "#definitions/rows/contract.ts";
import { parseJsonText } from "#kernel/body.ts";
import { replaceFile } from "#kernel/files.ts";

export type AddedRow = {
  file: string;
  /** The row to add by hand, and where; absent: the file has the row. */
  paste?: Paste;
};

type Paste = { text: string; into: string };

/** Adds to YAML and to JSON without comments. Throws what to do if that cannot be, and leaves the file as before. */
export async function addRow(request: ReadRequest, added: NewRow): Promise<AddedRow> {
  const { directory } = request;
  const given = request.file && path.resolve(directory, request.file);
  const named = given ?? findFile(directory);
  if (named === undefined) throw new Error(`there is no vedette.config.* here: ${initHint}`);
  const { set: before } = await readDefinitions({ ...request, file: named });
  refuseTaken(before, added);
  const name = path.relative(directory, named);
  // A link stays one.
  const file = realpathSync(named);
  const source = await loadSource(file, name);
  const text = edit(source, added);
  const isOnlyChange = async (draft: string) => {
    const set = await check({ ...request, file: draft }, name);
    return isAdded(set, before, added);
  };
  if (text !== undefined && (await replaceFile({ file, text }, isOnlyChange)))
    return { file: name };
  await check({ ...request, file: named, added }, name);
  return { file: name, paste: writePaste(source, added) };
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

/** The text of the file with the row; undefined: it is not written in a way that a row can be added to. */
function edit(source: Source, { section, row }: NewRow): string | undefined {
  if (!isEditable(source)) return undefined;
  const document = parseDocument(source.text, yamlOptions);
  const held = document.get(section, true);
  if (isSeq(held)) {
    if (held.items.length === 0) held.flow = false;
    held.add(document.createNode(row));
  } else if (isMap(held)) {
    const { key, rest } = withoutKey(section, row);
    if (held.items.length === 0) held.flow = false;
    held.set(key, document.createNode(rest));
  } else if (held === undefined || (isScalar(held) && held.value === null)) {
    document.set(section, document.createNode([row]));
  } else {
    return undefined;
  }
  return render(document, source);
}

/** With the indentation of the file. */
function render(document: Document.Parsed, { file, text }: Source): string {
  if (!file.endsWith(".json")) {
    const indentSeq = !/^( *)\S.*:[ \t]*\r?\n\1- /m.test(text);
    return document.toString({ lineWidth: 0, indentSeq });
  }
  const [indent = 2] = /^[ \t]+/m.exec(text) ?? [];
  return `${JSON.stringify(document, null, indent)}\n`;
}

/** Comments of JSON would be lost. */
function isEditable({ file, text }: Source): boolean {
  if (!file.endsWith(".json")) return /\.ya?ml$/.test(file);
  return Boolean(parseJsonText(text));
}

/** The row for an object in which its key is the name. */
function withoutKey(section: NewRow["section"], row: NewRow["row"]) {
  const { [sections[section].key]: _key, ...rest } = row;
  return { key: keyOf(section, row), rest };
}

/** Throws an error with the faults that the file would have. */
async function check(request: ReadRequest & { file: string }, name: string) {
  const { set } = await readDefinitions(request).catch((error: unknown) => {
    if (!(error instanceof DefinitionsError)) throw error;
    const faults = error.message.replaceAll(path.basename(request.file), path.basename(name));
    throw new Error(`nothing was written, since ${name} would have faults:\n${faults}`);
  });
  return set;
}

/** True if the row is the only difference. */
function isAdded(set: DefinitionSet, before: DefinitionSet, { section, row }: NewRow): boolean {
  const key = keyOf(section, row);
  const others = set[section].filter((one) => keyOf(section, one) !== key);
  return (
    others.length < set[section].length && isDeepStrictEqual({ ...set, [section]: others }, before)
  );
}

/** Writes TypeScript, which is YAML as well, and JSON for a file of JSON. */
function writePaste({ file, data }: Source, { section, row }: NewRow): Paste {
  const isJson = file.endsWith(".json");
  const write = (value: unknown) =>
    isJson ? JSON.stringify(value, null, 2) : writeLiteral(value, "");
  const held = (data as Partial<Record<string, unknown>>)[section] ?? undefined;
  const into = held === undefined ? "the top level" : section;
  if (Array.isArray(held)) return { into, text: `${write(row)},` };
  const { key, rest } = withoutKey(section, row);
  const [name, value] = held === undefined ? [section, [row]] : [key, rest];
  return { into, text: `${isJson ? JSON.stringify(name) : writeName(name)}: ${write(value)},` };
}

const lineWidth = 100;

/** On one line if it fits there after `indent`, else a line for each field. */
function writeLiteral(value: unknown, indent: string): string {
  const isList = Array.isArray(value);
  if (!isList && (typeof value !== "object" || value === null)) return JSON.stringify(value);
  const inner = `${indent}  `;
  const entries = Object.entries(value).map(([key, entry]) => {
    const literal = writeLiteral(entry, inner);
    return isList ? literal : `${writeName(key)}: ${literal}`;
  });
  const line = entries.join(", ");
  const flat = isList ? `[${line}]` : `{ ${line} }`;
  // A comma follows.
  if (!line.includes("\n") && indent.length + flat.length < lineWidth) return flat;
  const lines = entries.map((entry) => `${inner}${entry},\n`);
  return `${isList ? "[" : "{"}\n${lines.join("")}${indent}${isList ? "]" : "}"}`;
}

/** A name as it has to be written before a colon. */
function writeName(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}
