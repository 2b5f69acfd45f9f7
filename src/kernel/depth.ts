/** How deep data may be nested that others write: what goes through it calls itself, and would fill the stack. */
import { type Document, isMap, isSeq, parseDocument } from "yaml";

const deepest = 100;
export const tooDeep = `is nested deeper than ${deepest}`;

/** False for what is nested in more than `levels` lists and objects. */
export function isShallow(value: unknown, levels = deepest): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((entry) => isShallow(entry, levels - 1));
}

type Options = NonNullable<Parameters<typeof parseDocument>[1]>;

/** undefined: it is nested too deep. Before its data is made: that of keys that are lists in lists takes minutes. */
export function parseYamlDocument(text: string, options: Options): Document.Parsed | undefined {
  const document = parseDocument(text, options);
  const isFull = document.errors.some(({ message }) => message.includes("call stack"));
  return !isFull && isShallowNode(document.contents, deepest) ? document : undefined;
}

/** The data of a text. Throws when it is no YAML, or nested too deep. */
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
