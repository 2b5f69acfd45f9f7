/** Parses documents that people write, TOML and YAML, and limits the depth of YAML and JSON. */
import { readFileSync, statSync } from "node:fs";
import { parse, TomlError } from "smol-toml";
import {
  type Document,
  type ErrorCode,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  visit,
  YAMLParseError,
} from "yaml";

const deepest = 100;
const mostAliases = 2_000;
/** Limits the depth of data from outside: code that walks it is recursive and would overflow the stack. */
export const tooDeep = `is nested deeper than ${deepest}`;

/** False for what is nested in more than `levels` lists and objects. */
export function isShallow(value: unknown, levels = deepest): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((entry) => isShallow(entry, levels - 1));
}

type Options = NonNullable<Parameters<typeof parseDocument>[1]>;

/** undefined: it is nested too deep. Before its data is made: that of keys that are lists in lists takes minutes. */
export function parseYamlDocument(text: string, options: Options): Document.Parsed | undefined {
  // The library compares each key with each other: a file of 400 kB would take minutes.
  const document = parseDocument(text, { ...options, uniqueKeys: false });
  const isFull = document.errors.some(({ message }) => message.includes("call stack"));
  if (isFull || !isShallowNode(document.contents, deepest)) return undefined;
  addFaults(document);
  return document;
}

/** Adds keys that are there twice, and too many aliases: the library searches the document for each of them. */
function addFaults(document: Document.Parsed): void {
  let aliases = 0;
  const complain = ({ range }: Node, code: ErrorCode, message: string) =>
    document.errors.push(new YAMLParseError([range?.[0] ?? 0, range?.[1] ?? 0], code, message));
  visit(document, {
    Alias: (_, alias) => {
      aliases += 1;
      if (aliases <= mostAliases) return undefined;
      complain(alias, "BAD_ALIAS", `There are more than ${mostAliases} aliases`);
      return visit.BREAK;
    },
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) complain(key, "DUPLICATE_KEY", "Map keys must be unique");
        seen.add(key.value);
      }
    },
  });
}

export function parseYaml(text: string, options: Options = {}): unknown {
  const document = parseYamlDocument(text, options);
  if (document === undefined) throw new Error(tooDeep);
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const data: unknown = document.toJS();
  if (!isShallow(data)) throw new Error(tooDeep);
  return data;
}

function isShallowNode(node: unknown, levels: number): boolean {
  if (!isMap(node) && !isSeq(node)) return true;
  const inner = isSeq(node) ? node.items : node.items.flatMap(({ key, value }) => [key, value]);
  return levels > 0 && inner.every((one) => isShallowNode(one, levels - 1));
}

const mostBytes = 4 * 1024 * 1024;

/** Throws with the file, the line and the column of the fault, without a word of what the file has there. */
export function readToml(file: string): Record<string, unknown> {
  const found = statSync(file);
  if (!found.isFile() || found.size > mostBytes)
    throw new Error(`${file}: is no file of at most 4 MiB`);
  const text = readFileSync(file, "utf8");
  try {
    const data = parse(text);
    if (isShallow(data)) return data;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Not as its cause: the other lines of its message quote the file, which may have secrets.
    const [summary = ""] = error.message.replace("Invalid TOML document: ", "").split("\n");
    throw new Error(`${file}, line ${error.line}, column ${error.column}: ${summary}`);
  }
  throw new Error(`${file}: ${tooDeep}`);
}
