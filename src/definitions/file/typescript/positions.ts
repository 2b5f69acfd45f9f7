/** Finds where rows are written in a module. Of what code makes nothing is known. */
import { type Expression, type ObjectExpression, type Options, type Program, parse } from "acorn";
import { Offsets, type Path } from "#definitions/file/offsets.ts";

export const parserOptions = { ecmaVersion: "latest", sourceType: "module" } satisfies Options;

/** Constants may stand for lists of constants that stand for lists: a few lines would take days. */
const mostSteps = 200_000;

/** `code` has no types, `data` is what it exports. Throws `SyntaxError`, and `RangeError` when it has too much. */
export function findOffsets(code: string, data: unknown): Offsets {
  const program = parse(code, parserOptions);
  const offsets = new Offsets();
  const walk = { constants: constantsOf(program), offsets, left: mostSteps };
  visit({ node: exportOf(program), path: [], data }, walk);
  return offsets;
}

type Constants = ReadonlyMap<string, Expression>;

type Walk = { constants: Constants; offsets: Offsets; left: number };
type At = { node: Expression | undefined; path: Path; data: unknown };

/** Returns the expression of `export default`; undefined: a class or function, or nothing. */
function exportOf(program: Program): Expression | undefined {
  const found = program.body.find((node) => node.type === "ExportDefaultDeclaration");
  const declaration = found?.declaration;
  if (declaration === undefined || /Declaration$/.test(declaration.type)) return undefined;
  return declaration as Expression;
}

function constantsOf(program: Program): Constants {
  const declared = program.body.flatMap((node) => {
    const inner = node.type === "ExportNamedDeclaration" ? node.declaration : node;
    return inner?.type === "VariableDeclaration" ? inner.declarations : [];
  });
  return new Map(
    declared.flatMap(({ id, init }) => (id.type === "Identifier" && init ? [[id.name, init]] : [])),
  );
}

/** Goes from a name to its constant, and from `defineConfig(x)` to `x`. */
function resolve(
  node: Expression | undefined,
  constants: Constants,
  steps = 10,
): Expression | undefined {
  if (node === undefined || steps === 0) return undefined;
  if (node.type === "Identifier") return resolve(constants.get(node.name), constants, steps - 1);
  if (node.type !== "CallExpression") return node;
  const [only, ...others] = node.arguments;
  if (only === undefined || only.type === "SpreadElement" || others.length > 0) return undefined;
  return resolve(only, constants, steps - 1);
}

function visit({ node, path, data }: At, walk: Walk): void {
  takeStep(walk);
  const found = resolve(node, walk.constants);
  if (found?.type === "ObjectExpression") visitObject(found, { path, data }, walk);
  if (found?.type === "ArrayExpression" && Array.isArray(data)) {
    visitList(entriesOf(found, walk), { path, data }, walk);
  }
}

function takeStep(walk: Walk): void {
  walk.left -= 1;
  if (walk.left < 0) throw new RangeError("too many constants");
}

function visitObject(
  { properties }: ObjectExpression,
  { path, data }: Omit<At, "node">,
  walk: Walk,
): void {
  for (const property of properties) {
    if (property.type === "SpreadElement") {
      visit({ node: property.argument, path, data }, walk);
      continue;
    }
    const name = nameOf(property);
    if (name === undefined) continue;
    const at = [...path, name];
    walk.offsets.set(at, property.start);
    visit({ node: property.value, path: at, data: fieldOf(data, name) }, walk);
  }
}

/** undefined: it is computed. */
function nameOf(property: ObjectExpression["properties"][number]): string | undefined {
  if (property.type === "SpreadElement" || property.computed) return undefined;
  const { key } = property;
  if (key.type === "Identifier") return key.name;
  return key.type === "Literal" ? String(key.value) : undefined;
}

/** null: any number of entries that code makes. */
type Entry = Expression | null;

function entriesOf(list: Extract<Expression, { type: "ArrayExpression" }>, walk: Walk): Entry[] {
  return list.elements.flatMap((element): Entry[] => {
    takeStep(walk);
    if (element?.type !== "SpreadElement") return [element];
    const spread = resolve(element.argument, walk.constants);
    return spread?.type === "ArrayExpression" ? entriesOf(spread, walk) : [null];
  });
}

function visitList(
  entries: Entry[],
  { path, data }: { path: Path; data: unknown[] },
  walk: Walk,
): void {
  const isWhole = !entries.includes(null) && entries.length === data.length;
  entries.forEach((entry, position) => {
    const node = resolve(entry ?? undefined, walk.constants) ?? entry;
    const index = indexOf(node, { position: isWhole ? position : -1, data });
    if (node === null || index === -1) return;
    const at = [...path, index];
    walk.offsets.set(at, node.start);
    visit({ node, path: at, data: data[index] }, walk);
  });
}

/** By the id that is written there; without one by its position, if that is certain. */
function indexOf(node: Entry, { position, data }: { position: number; data: unknown[] }): number {
  const id = node?.type === "ObjectExpression" ? idOf(node) : undefined;
  if (id === undefined || isNamed(data[position], id)) return position;
  const named = data.flatMap((row, index) => (isNamed(row, id) ? [index] : []));
  return named.length === 1 ? (named[0] ?? -1) : -1;
}

function isNamed(row: unknown, id: string): boolean {
  return fieldOf(row, "id") === id || fieldOf(row, "name") === id;
}

function idOf({ properties }: ObjectExpression): string | undefined {
  const named = (name: string) => {
    const found = properties.find((property) => nameOf(property) === name);
    if (found?.type !== "Property" || found.value.type !== "Literal") return undefined;
    return String(found.value.value);
  };
  return named("id") ?? named("name");
}

function fieldOf(data: unknown, name: string): unknown {
  const isHolder = typeof data === "object" && data !== null && Object.hasOwn(data, name);
  return isHolder ? (data as Record<string, unknown>)[name] : undefined;
}
