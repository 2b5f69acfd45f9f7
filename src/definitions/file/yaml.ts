/** YAML 1.2, with anchors and merge keys. JSON is YAML. */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Pair,
} from "yaml";
import { isShallow, parseYamlDocument, tooDeep } from "#kernel/documents.ts";
import { Malformed } from "./fault.ts";
import { mostPlaces, Offsets, type Parsed, type Path, placeAt } from "./offsets.ts";

export const yamlOptions = { merge: true, prettyErrors: false, uniqueKeys: false } as const;

/** Takes JSON with comments, too, by the name of the file. */
export function parseYaml(text: string, file: string): Parsed {
  const isJson = file.endsWith(".json");
  const format = isJson ? "JSON" : "YAML";
  const document = parseYamlDocument(isJson ? blankComments(text) : text, yamlOptions);
  if (document === undefined) throw new Malformed(tooDeep);
  const faults = document.errors.slice(0, mostPlaces).map(({ message, pos: [offset] }) => ({
    place: placeAt(text, offset),
    where: "",
    message: `is not valid ${format}: ${withoutQuote(message)}`,
  }));
  if (faults.length > 0) throw new Malformed(faults);
  const data: unknown = toData(document);
  // Names stand for what has names in it.
  if (!isShallow(data)) throw new Malformed(tooDeep);
  const offsets = new Offsets();
  // After the data was made: by then it is certain that aliases do not multiply without end.
  collect(document.contents, [], { anchors: new Map(), offsets });
  return { data: data ?? {}, offsets };
}

/** Comments of JSON are none of YAML. Everything else keeps its place. What has no end is not searched for again and again. */
function blankComments(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*(?:"|\\?$)|\/\/[^\n]*|\/\*.*?(?:\*\/|$)/gs, (found) =>
    found.startsWith('"') ? found : found.replace(/./g, " "),
  );
}

/** Returns the message up to its colon, after which it quotes the file, which may have secrets. */
function withoutQuote(message: string): string {
  return message.split(/(?<! or ): /)[0] ?? "";
}

function toData(document: Document.Parsed): unknown {
  try {
    return document.toJS();
  } catch (cause) {
    // A name that stands for itself, or aliases of aliases that would fill the memory.
    throw new Malformed(`is not valid YAML: ${withoutQuote((cause as Error).message)}`, undefined, {
      cause,
    });
  }
}

/** `anchors`: those before the node, by name. */
type Into = { anchors: Map<string, unknown>; offsets: Offsets };

function collect(node: unknown, path: Path, into: Into): void {
  const found = isAlias(node) ? into.anchors.get(node.source) : node;
  if (isCollection(node) && node.anchor) into.anchors.set(node.anchor, node);
  if (isSeq(found)) {
    found.items.forEach((item, index) => {
      const at = [...path, index];
      if (isNode(item) && item.range) into.offsets.set(at, item.range[0]);
      collect(item, at, into);
    });
  }
  if (isMap(found)) for (const pair of found.items) collectPair(pair, path, into);
}

function collectPair({ key, value }: Pair, path: Path, into: Into): void {
  if (!isScalar(key)) return;
  const at = [...path, String(key.value)];
  if (key.range) into.offsets.set(at, key.range[0]);
  collect(value, at, into);
}
