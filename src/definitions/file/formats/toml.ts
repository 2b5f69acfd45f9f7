/** TOML. */
import { parse, TomlError } from "smol-toml";
import { type AST, parseTOML } from "toml-eslint-parser";
import { Offsets, type Path } from "#definitions/file/offsets.ts";
import { Malformed, type Parsed } from "./format.ts";

export function parseToml(text: string): Parsed {
  return { data: parseData(text), offsets: findOffsets(text) };
}

function parseData(text: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const { line, column, message } = cause;
    // Only its first line: the others quote the file.
    const [summary = ""] = message.split("\n");
    throw new Malformed(`is not valid TOML: ${summary}`, { line, column }, { cause });
  }
}

/** Of a text that only the other parser takes none are known. */
function findOffsets(text: string): Offsets {
  const offsets = new Offsets();
  try {
    const [top] = parseTOML(text).body;
    for (const entry of top.body) collectEntry(entry, offsets);
  } catch {
    return offsets;
  }
  return offsets;
}

function collectEntry(entry: AST.TOMLKeyValue | AST.TOMLTable, offsets: Offsets): void {
  if (entry.type === "TOMLKeyValue") {
    collectField(entry, [], offsets);
    return;
  }
  mark(entry.resolvedKey, { from: 1, offset: entry.range[0] }, offsets);
  for (const field of entry.body) collectField(field, entry.resolvedKey, offsets);
}

function collectField({ key, value, range }: AST.TOMLKeyValue, path: Path, offsets: Offsets): void {
  const names = key.keys.map((part) => (part.type === "TOMLBare" ? part.name : part.value));
  const at = [...path, ...names];
  mark(at, { from: path.length + 1, offset: range[0] }, offsets);
  collectValue(value, at, offsets);
}

function collectValue(value: AST.TOMLContentNode, path: Path, offsets: Offsets): void {
  if (value.type === "TOMLInlineTable") {
    for (const field of value.body) collectField(field, path, offsets);
  }
  if (value.type !== "TOMLArray") return;
  value.elements.forEach((element, index) => {
    offsets.set([...path, index], element.range[0]);
    collectValue(element, [...path, index], offsets);
  });
}

/** A dotted name makes the tables around it, too. */
function mark(path: Path, { from, offset }: { from: number; offset: number }, offsets: Offsets) {
  for (let length = from; length <= path.length; length += 1) {
    const at = path.slice(0, length);
    if (!offsets.has(at)) offsets.set(at, offset);
  }
}
