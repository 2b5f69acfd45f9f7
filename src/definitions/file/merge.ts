/** Joins the rows of all files with those that they extend. Pure. */
import {
  type DefinitionSet,
  keyOf,
  type Section,
  sectionNames,
  sections,
} from "#definitions/rows/contract.ts";
import { type Fault, placeName } from "./fault.ts";
import type { OwnRow } from "./own-rows.ts";

export type Merged = {
  set: DefinitionSet;
  /** Rows that a file names as null. */
  removed: { section: Section; key: string }[];
  faults: Fault[];
};

/** Rows with faults are left out. A null removes the row of any file and of `base`. */
export function mergeRows(base: DefinitionSet, own: readonly OwnRow[]): Merged {
  const merged = sectionNames.map((section) =>
    mergeSection(
      section,
      base[section],
      own.filter((row) => row.section === section),
    ),
  );
  return {
    set: Object.fromEntries(merged.map(({ section, rows }) => [section, rows])) as never,
    removed: merged.flatMap(({ section, gone }) => [...gone].map((key) => ({ section, key }))),
    faults: merged.flatMap(({ faults }) => faults),
  };
}

function mergeSection(section: Section, base: readonly object[], own: readonly OwnRow[]) {
  const rows = new Map(base.map((row) => [keyOf(section, row), row]));
  const gone = new Set(own.filter(({ row }) => row === null).map(({ key }) => key));
  for (const { key, row } of own) if (row) rows.set(key, row);
  for (const key of gone) rows.delete(key);
  const faults = [...findTwice(own), ...findTooMany(section, rows.size, own)];
  return { section, rows: [...rows.values()], gone, faults };
}

function findTwice(own: readonly OwnRow[]): Fault[] {
  const first = new Map<string, OwnRow>();
  return own.flatMap((row) => {
    if (row.row === null) return [];
    const earlier = first.get(row.key);
    first.set(row.key, earlier ?? row);
    if (earlier === undefined) return [];
    const { source, path } = earlier;
    const place = placeName(source.name, source.placeOf(path));
    const where = `${row.section}.${row.key}`;
    return [row.source.faultAt(row.path, { where, message: `is there twice: also at ${place}` })];
  });
}

function findTooMany(section: Section, count: number, [first]: readonly OwnRow[]): Fault[] {
  const { most } = sections[section];
  if (count <= most || first === undefined) return [];
  const message = `has to have at most ${most} rows`;
  return [first.source.faultAt([section], { where: section, message })];
}
