/** JSON, with comments and trailing commas as editors take them. */
import {
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { Offsets, type Path, placeAt } from "#definitions/file/offsets.ts";
import { Malformed, type Parsed } from "./format.ts";

export function parseJson(text: string): Parsed {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (tree === undefined || first !== undefined) {
    const reason = first === undefined ? "" : ` (${printParseErrorCode(first.error)})`;
    throw new Malformed(`is not valid JSON${reason}`, placeAt(text, first?.offset ?? 0));
  }
  const offsets = new Offsets();
  collect({ node: tree, path: [] }, { text, offsets });
  return { data: getNodeValue(tree), offsets };
}

type At = { node: Node; path: Path };

function collect({ node, path }: At, into: { text: string; offsets: Offsets }): void {
  const children = node.children ?? [];
  if (node.type === "array") {
    children.forEach((child, index) => {
      into.offsets.set([...path, index], child.offset);
      collect({ node: child, path: [...path, index] }, into);
    });
  }
  if (node.type === "object") for (const child of children) collectField(child, path, into);
}

function collectField(
  { children: [key, value] = [] }: Node,
  path: Path,
  into: { text: string; offsets: Offsets },
): void {
  if (key === undefined || value === undefined) return;
  const at = [...path, String(key.value)];
  if (into.offsets.has(at)) {
    throw new Malformed("a name is there twice in one object", placeAt(into.text, key.offset));
  }
  into.offsets.set(at, key.offset);
  collect({ node: value, path: at }, into);
}
