import type { Content, FieldChange, Json, ThreeWayChange } from "#routing/incident/contract.ts";
import { canonical, compareText, isObject } from "./content.ts";

/** Lists every field that differs in meaning; null: it is absent, or has its default. */
export function diffContent(before: Content, after: Content): FieldChange[] {
  const [one, other] = [flatten(before), flatten(after)];
  return pathsOf(one, other).flatMap((path) => {
    const change = { path, before: one.get(path) ?? null, after: other.get(path) ?? null };
    return isSame(change.before, change.after) ? [] : [change];
  });
}

type Versions = { base: Content; theirs: Content; ours: Content };

/** Lists each field that someone else, or we, have changed since the common base. */
export function diffThreeWays({ base, theirs, ours }: Versions): ThreeWayChange[] {
  const [old, one, other] = [flatten(base), flatten(theirs), flatten(ours)];
  return pathsOf(old, one, other).flatMap((path) => {
    const fields = {
      base: old.get(path) ?? null,
      theirs: one.get(path) ?? null,
      ours: other.get(path) ?? null,
    };
    const by = changedBy(fields);
    return by === null ? [] : [{ path, by, ...fields }];
  });
}

type Fields = Record<keyof Versions, Json>;

function changedBy({ base, theirs, ours }: Fields): ThreeWayChange["by"] | null {
  const isTheirs = !isSame(base, theirs);
  const isOurs = !isSame(base, ours);
  if (isTheirs && isOurs) return isSame(theirs, ours) ? "both alike" : "both";
  if (isTheirs) return "someone else";
  return isOurs ? "us" : null;
}

function isSame(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function pathsOf(...flat: Map<string, Json>[]): string[] {
  return [...new Set(flat.flatMap((fields) => [...fields.keys()]))].sort(compareText);
}

function flatten(content: Content): Map<string, Json> {
  const fields = new Map<string, Json>();
  const walk = (value: Json, path: string) => {
    const members = membersOf(value);
    if (members === undefined) fields.set(path, value);
    else for (const [name, child] of members) walk(child, path === "" ? name : join(path, name));
  };
  walk(canonical(content, ""), "");
  return fields;
}

const identities = ["alert_source_id", "custom_field_id"];

/** undefined: a value that is compared as a whole. */
function membersOf(value: Json): [string, Json][] | undefined {
  if (isObject(value)) return Object.entries(value);
  if (!Array.isArray(value)) return undefined;
  const members = value.map((element): [string, Json] | undefined => {
    if (!isObject(element)) return undefined;
    const identity = identities.find((name) => typeof element[name] === "string");
    return identity === undefined ? undefined : [`[${element[identity]}]`, element];
  });
  return members.every((member) => member !== undefined) ? members : undefined;
}

function join(path: string, name: string): string {
  return name.startsWith("[") ? `${path}${name}` : `${path}.${name}`;
}
