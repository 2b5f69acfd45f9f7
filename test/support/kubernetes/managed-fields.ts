/**
 * Who has set which field of an object, as server-side apply keeps it
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply/).
 */
import type { KubeObject, ManagedFields } from "./objects.ts";

/** The lists whose entries are told apart by one of their fields; all others are one value. */
const listKeys: Record<string, string> = {
  containers: "name",
  initContainers: "name",
  env: "name",
  volumes: "name",
};

type Json = unknown;
/** The value of each field, by its path: `f:spec`, `k:{"name":"gw"}`, `f:image`. */
type Leaves = Map<string, Json>;

const separator = "\u0000";

function isMap(value: Json): value is Record<string, Json> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every field that a body sets, without those that name it. */
function leavesOf(body: object): Leaves {
  const leaves: Leaves = new Map();
  const { metadata = {}, ...rest } = body as { metadata?: Record<string, Json>; spec?: Json };
  for (const name of ["labels", "annotations"]) {
    for (const [key, value] of Object.entries(metadata[name] ?? {})) {
      leaves.set(["f:metadata", `f:${name}`, `f:${key}`].join(separator), value);
    }
  }
  if (rest.spec !== undefined) addLeaves(leaves, rest.spec, ["f:spec"], "spec");
  return leaves;
}

function addLeaves(leaves: Leaves, value: Json, path: string[], field: string): void {
  const key = listKeys[field];
  if (isMap(value) && Object.keys(value).length > 0) {
    for (const [name, inner] of Object.entries(value)) {
      addLeaves(leaves, inner, [...path, `f:${name}`], name);
    }
  } else if (Array.isArray(value) && key !== undefined) {
    for (const entry of value as Record<string, Json>[]) {
      addLeaves(leaves, entry, [...path, `k:${JSON.stringify({ [key]: entry[key] })}`], "");
    }
  } else {
    leaves.set(path.join(separator), value);
  }
}

function setLeaf(object: KubeObject, leaf: string, value: Json): void {
  const parts = leaf.split(separator);
  const last = parts.pop() ?? "";
  let at: Record<string, Json> = object as never;
  for (const [index, part] of parts.entries()) {
    at = stepInto(at, part, (parts[index + 1] ?? last).startsWith("k:"));
  }
  if (value === undefined) delete at[last.slice(2)];
  else at[last.slice(2)] = value;
}

/** What a part of a path names, made where it is missing. */
function stepInto(at: Record<string, Json>, part: string, isList: boolean): Record<string, Json> {
  if (part.startsWith("f:")) {
    at[part.slice(2)] ??= isList ? [] : {};
    return at[part.slice(2)] as Record<string, Json>;
  }
  const wanted = JSON.parse(part.slice(2)) as Record<string, Json>;
  const [[key, name] = ["", ""]] = Object.entries(wanted);
  const list = at as unknown as Record<string, Json>[];
  const found = list.find((one) => one[key] === name) ?? wanted;
  if (!list.includes(found)) list.push(found);
  return found;
}

/** A path as messages have it: `.spec.template.spec.containers[name="gw"].image`. */
function wordsOf(leaf: string): string {
  const words = leaf.split(separator).map((part) => {
    if (part.startsWith("f:")) return `.${part.slice(2)}`;
    const [[key, name] = ["", ""]] = Object.entries(JSON.parse(part.slice(2)) as object);
    return `[${key}=${JSON.stringify(name)}]`;
  });
  return words.join("");
}

function fieldsOf(leaves: readonly string[]): object {
  const root: Record<string, object> = {};
  for (const leaf of leaves) {
    let at = root;
    for (const part of leaf.split(separator)) {
      at[part] ??= {};
      at = at[part] as Record<string, object>;
    }
  }
  return root;
}

function leavesOfFields(fields: object, path: string[] = []): string[] {
  const entries = Object.entries(fields);
  if (entries.length === 0) return [path.join(separator)];
  return entries.flatMap(([part, inner]) => leavesOfFields(inner as object, [...path, part]));
}

type Owner = { manager: string; operation: "Apply" | "Update"; leaves: Set<string> };

function ownersOf(object: KubeObject): Owner[] {
  return (object.metadata.managedFields ?? []).map(({ manager, operation, fieldsV1 }) => ({
    manager,
    operation,
    leaves: new Set(leavesOfFields(fieldsV1)),
  }));
}

function withOwners(object: KubeObject, owners: readonly Owner[]): void {
  object.metadata.managedFields = owners
    .filter(({ leaves }) => leaves.size > 0)
    .map(
      ({ manager, operation, leaves }): ManagedFields => ({
        manager,
        operation,
        apiVersion: object.apiVersion,
        time: object.metadata.creationTimestamp,
        fieldsType: "FieldsV1",
        fieldsV1: fieldsOf([...leaves]),
      }),
    );
}

function ownerOf(owners: Owner[], manager: string, operation: Owner["operation"]): Owner {
  const known = owners.find((one) => one.manager === manager && one.operation === operation);
  if (known !== undefined) return known;
  const own: Owner = { manager, operation, leaves: new Set() };
  owners.push(own);
  return own;
}

/** Any write but server-side apply: what it has changed is the writer's from now on. */
export function noteUpdate(before: KubeObject | undefined, after: KubeObject, manager: string) {
  const [was, is] = [before ? leavesOf(before) : new Map(), leavesOf(after)];
  const changed = [...is].filter(([leaf, value]) => !isEqual(was.get(leaf), value));
  const owners = ownersOf(before ?? after);
  for (const { leaves } of owners) {
    for (const leaf of [...leaves]) if (!is.has(leaf)) leaves.delete(leaf);
    for (const [leaf] of changed) leaves.delete(leaf);
  }
  const own = ownerOf(owners, manager, "Update");
  for (const [leaf] of changed) own.leaves.add(leaf);
  withOwners(after, owners);
}

/** `owner`: as Kubernetes words it. One that does not apply is named with its version. */
export type FieldConflict = { owner: string; field: string };

/** Server-side apply. Changes `live`, or answers the fields that are somebody else's. */
export function applyFields(
  live: KubeObject,
  body: object,
  { manager, isForced }: { manager: string; isForced: boolean },
): FieldConflict[] {
  const wanted = leavesOf(body);
  const present = leavesOf(live);
  const owners = ownersOf(live);
  const own = ownerOf(owners, manager, "Apply");
  const others = owners.filter((one) => one !== own);
  const differing = [...wanted.keys()].filter(
    (leaf) => !isEqual(present.get(leaf), wanted.get(leaf)),
  );
  const conflicts = others.flatMap(({ manager: other, operation, leaves }) => {
    const owner = `"${other}"${operation === "Update" ? ` using ${live.apiVersion}` : ""}`;
    const theirs = differing.filter((leaf) => leaves.has(leaf));
    return theirs.map((leaf) => ({ owner, field: wordsOf(leaf) }));
  });
  if (conflicts.length > 0 && !isForced) return conflicts;
  for (const { leaves } of others) for (const leaf of differing) leaves.delete(leaf);
  for (const leaf of own.leaves) {
    const isShared = others.some(({ leaves }) => leaves.has(leaf));
    if (!wanted.has(leaf) && !isShared) setLeaf(live, leaf, undefined);
  }
  for (const [leaf, value] of wanted) setLeaf(live, leaf, value);
  own.leaves = new Set(wanted.keys());
  withOwners(live, owners);
  return [];
}

function isEqual(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A merge of maps; lists whose entries have names are merged when `byName`, as kubectl's own patches want it. */
export function mergePatch(live: Json, patch: Json, byName: boolean, field = ""): Json {
  const key = listKeys[field];
  if (byName && key !== undefined && Array.isArray(patch) && Array.isArray(live)) {
    const entries = live as Record<string, Json>[];
    const merged = entries.map((entry) => {
      const change = (patch as Record<string, Json>[]).find((one) => one[key] === entry[key]);
      return change === undefined ? entry : mergePatch(entry, change, byName);
    });
    const known = new Set(entries.map((entry) => entry[key]));
    return [...merged, ...(patch as Record<string, Json>[]).filter((one) => !known.has(one[key]))];
  }
  if (!isMap(patch)) return patch;
  const result: Record<string, Json> = isMap(live) ? { ...live } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith("$")) continue;
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value, byName, name);
  }
  return result;
}
