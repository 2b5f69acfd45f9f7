/** Decides what applying a file changes. Pure. */
import { isDeepStrictEqual } from "node:util";
import type { Change, PlanRequest, RowKey } from "#definitions/contract.ts";
import {
  type DefinitionSet,
  keyOf,
  type Section,
  sectionNames,
} from "#definitions/rows/contract.ts";

export type Planned = {
  changes: Change[];
  /** The rows that are in force after it. */
  next: DefinitionSet;
};

type DesiredRow = Pick<PlanRequest, "definitions" | "removed" | "prune">;

/** Rows that are not wanted stay, unless removed by name, pruned, or their id is wanted for a row of another kind. */
export function planApply(present: DefinitionSet, wanted: DesiredRow): Planned {
  const planned = sectionNames.map((section) => planSection(section, present[section], wanted));
  const next = Object.fromEntries(planned.map(({ section, rows }) => [section, rows]));
  return {
    changes: planned.flatMap(({ changes }) => changes),
    next: next as unknown as DefinitionSet,
  };
}

/** True if the change alters what the program has. */
export function isChange({ kind }: Change): boolean {
  return kind !== "leave";
}

type Rows = readonly object[];

function planSection(section: Section, present: Rows, { definitions, removed, prune }: DesiredRow) {
  const rows: Rows = definitions[section];
  const replaced = idsOfOtherKind(section, definitions);
  const before = indexOf(section, present);
  const after = indexOf(section, rows);
  const isRemoved = (key: string) =>
    prune || replaced.has(key) || removed.some((row) => isSameRow(row, section, key));
  const gone = [...before].filter(([key]) => !after.has(key));
  const changes = [
    ...[...after].flatMap(([key, row]) => compare({ section, key }, before.get(key), row)),
    ...gone.map(([key]): Change => ({ section, key, kind: isRemoved(key) ? "remove" : "leave" })),
  ];
  const left = gone.filter(([key]) => !isRemoved(key)).map(([, row]) => row);
  return { section, changes, rows: [...rows, ...left] };
}

/** They share their ids, by which alerts are known. */
const ofOneKind: readonly Section[] = ["checks", "heartbeats", "drills"];

function idsOfOtherKind(section: Section, definitions: DefinitionSet): Set<string> {
  if (!ofOneKind.includes(section)) return new Set();
  const others = ofOneKind.filter((other) => other !== section);
  return new Set(others.flatMap((other) => definitions[other].map((row) => keyOf(other, row))));
}

function isSameRow(row: RowKey, section: Section, key: string): boolean {
  return row.section === section && row.key === key;
}

function indexOf(section: Section, rows: Rows): Map<string, object> {
  return new Map(rows.map((row) => [keyOf(section, row), row]));
}

function compare(row: RowKey, before: object | undefined, after: object): Change[] {
  if (before === undefined) return [{ ...row, kind: "add" }];
  const fields = fieldsThatDiffer(before, after);
  return fields.length === 0 ? [] : [{ ...row, kind: "change", fields }];
}

/** A field that is absent and one that is undefined are the same. */
function fieldsThatDiffer(before: object, after: object): string[] {
  const [old, current] = [before, after] as Record<string, unknown>[];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !isDeepStrictEqual(old?.[name], current?.[name])).sort();
}
