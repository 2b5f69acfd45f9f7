/** Reads the definitions of a directory: its file, what that includes, and what it extends. */
import path from "node:path";
import { z } from "zod";
import {
  type DefinitionSet,
  emptySet,
  keyOf,
  type Section,
  sectionNames,
  sections,
} from "#definitions/rows/contract.ts";
import { type Finding, lintSet } from "#definitions/rules/lint.ts";
import { wordsOf } from "#kernel/faults.ts";
import { hintOf } from "#kernel/text.ts";
import { DefinitionsError, type Fault, placeName } from "./fault.ts";
import { type Loaded, loadAll } from "./include.ts";
import type { Path } from "./offsets.ts";
import { findFile, type Source } from "./source.ts";
import { isObject, type Top } from "./top.ts";

/** The rows of one file, checked. */
type OwnRow = {
  section: Section;
  key: string;
  /** null: the row of this key is removed. undefined: it has faults. */
  row: object | null | undefined;
  source: Source;
  path: Path;
};

function readRows(source: Source, top: Top): { rows: OwnRow[]; faults: Fault[] } {
  const read = sectionNames
    .filter((section) => section in top.sections)
    .map((section) => readSection(section, top.sections[section], source));
  return { rows: read.flatMap(({ rows }) => rows), faults: read.flatMap(({ faults }) => faults) };
}

type Read = { rows: OwnRow[]; faults: Fault[] };

function readSection(section: Section, value: unknown, source: Source): Read {
  if (Array.isArray(value)) {
    return join(
      value.map((row, index) => readListed(row, { section, path: [section, index], source })),
    );
  }
  if (isObject(value)) {
    const rows = Object.entries(value).map(([key, row]) =>
      readNamed(row, key, { section, path: [section, key], source }),
    );
    return join(rows);
  }
  const { key } = sections[section];
  const message = `has to be a list of rows, or an object with a row for each ${key}`;
  return { rows: [], faults: [source.faultAt([section], { where: section, message })] };
}

function join(read: readonly Read[]): Read {
  return { rows: read.flatMap(({ rows }) => rows), faults: read.flatMap(({ faults }) => faults) };
}

type At = { section: Section; path: Path; source: Source };

function readListed(row: unknown, at: At): Read {
  const { section, path, source } = at;
  const keyName = sections[section].key;
  if (!isObject(row)) {
    const message = `has to be a row: an object with ${keyName}`;
    return { rows: [], faults: [source.faultAt(path, { where: path.join("."), message })] };
  }
  const key = row[keyName];
  return parse(row, typeof key === "string" ? key : undefined, at);
}

function readNamed(row: unknown, key: string, at: At): Read {
  const { section, path, source } = at;
  if (row === null) return { rows: [{ section, key, row, source, path }], faults: [] };
  const keyName = sections[section].key;
  const complain = (message: string, field?: string) => {
    const where = [...path, ...(field === undefined ? [] : [field])];
    return { rows: [], faults: [source.faultAt(where, { where: where.join("."), message })] };
  };
  if (!isObject(row)) return complain("has to be a row, or null to remove the row of this name");
  const own = row[keyName];
  if (own !== undefined && own !== key) {
    return complain(
      `has to be ${JSON.stringify(key)}, as the row is named here, or be left out`,
      keyName,
    );
  }
  return parse({ [keyName]: key, ...row }, key, at);
}

/** `key` is undefined when the row has none. */
function parse(row: Record<string, unknown>, key: string | undefined, at: At): Read {
  const { section, path, source } = at;
  const parsed = sections[section].row.safeParse(row);
  const named = [section, key ?? String(path[1])];
  const complaints = parsed.success
    ? []
    : parsed.error.issues.flatMap((issue) => complaintsOf(issue, fieldsOf(section, row)));
  const faults = complaints.map(({ path: field, message }) =>
    source.faultAt([...path, ...field], { where: [...named, ...field].join("."), message }),
  );
  if (key === undefined) return { rows: [], faults };
  return { rows: [{ section, key, row: parsed.data, source, path }], faults };
}

/** The names of the fields that such a row may have; of a section with several kinds, those of its kind. */
function fieldsOf(section: Section, given: Record<string, unknown>): string[] {
  const { row } = sections[section];
  const schema: z.core.$ZodType = row instanceof z.ZodPipe ? row.in : row;
  const options = schema instanceof z.ZodDiscriminatedUnion ? schema.options : [schema];
  const objects = options.filter((option) => option instanceof z.ZodObject);
  const own = objects.find(
    ({ shape: { kind } }) => kind && z.safeParse(kind, given["kind"]).success,
  );
  return Object.keys((own ?? objects[0])?.shape ?? {});
}

type Complaint = { path: Path; message: string };

/** Returns an unknown field with the path of its name. `fields`: those that a row of this section has. */
function complaintsOf(issue: z.core.$ZodIssue, fields: readonly string[]): Complaint[] {
  const path = issue.path.filter((part) => typeof part !== "symbol");
  if (issue.code !== "unrecognized_keys") return [{ path, message: describe(issue) }];
  const known = path.length === 0 ? fields : [];
  return issue.keys.map((key) => ({
    path: [...path, key],
    message: `is unknown${hintOf(key, known)}`,
  }));
}

/** Describes a wrong kind of object by the kinds that there are. */
function describe(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_union" || !("options" in issue)) return wordsOf(issue);
  // Undefined: of the kind that a row without one has.
  const names = issue.options.filter((name) => name !== undefined);
  return `expected one of ${names.map((name) => JSON.stringify(name)).join(", ")}`;
}

export type ReadDefinitions = {
  set: DefinitionSet;
  /** The rows that the files name as null: they are to be removed. */
  removed: { section: Section; key: string }[];
  /** The files that were read, the first one first; empty: there is none, and `set` is the standard one. */
  files: string[];
  /** The fault of a row, at its place in the file that has it. */
  faultOf: (finding: Finding) => Fault;
};

export type ReadRequest = {
  /** Relative to the directory; absent: `vedette.config.*` in it, if there is one. */
  file?: string;
  directory: string;
  /** The rows of `extends: ["standard"]`, and of a directory without a file. */
  standard: DefinitionSet;
  /** Checked as if the first file had it, which it does not. */
  added?: NewRow;
};

/** A row as a file has it: with its id, and without what has a default. */
export type NewRow = { section: Section; row: Record<string, unknown> };

/** Throws `DefinitionsError` with all faults. */
export async function readDefinitions(request: ReadRequest): Promise<ReadDefinitions> {
  const { file, directory, standard, added } = request;
  const root = file === undefined ? findFile(directory) : path.resolve(directory, file);
  if (root === undefined) {
    return { set: standard, removed: [], files: [], faultOf: locateIn([], "the standard rows") };
  }
  const loaded = await loadAll(root, directory);
  const read = loaded.sources.map(({ source, top }) => readRows(source, top));
  const [main] = loaded.sources;
  if (added !== undefined && main !== undefined) read.push(readAdded(added, main));
  const rows = read.flatMap((one) => one.rows);
  const isExtended = loaded.sources.some(({ top }) => top.extendsStandard);
  const { set, removed, faults } = mergeRows(isExtended ? standard : emptySet, rows);
  const all = [...loaded.faults, ...read.flatMap((one) => one.faults), ...faults];
  const files = loaded.sources.map(({ source }) => source.name);
  const [first = ""] = files;
  // Rows that a faulty file or row lacks may be those that others name.
  const faultOf = locateIn(rows, first);
  if (canLint(loaded.faults, rows)) all.push(...lintSet(set).map(faultOf));
  if (all.length > 0) throw new DefinitionsError(all);
  return { set, removed, files, faultOf };
}

function readAdded({ section, row }: NewRow, { source, top }: Loaded["sources"][number]) {
  const faultAt: Source["faultAt"] = (_, fault) => ({ ...fault, file: source.name });
  const placeless = { ...source, placeOf: () => undefined, faultAt };
  return readRows(placeless, { ...top, sections: { [section]: [row] } });
}

const named: readonly Section[] = ["channels", "locations", "sources"];

function canLint(unread: readonly Fault[], rows: readonly OwnRow[]): boolean {
  return (
    unread.length === 0 &&
    rows.every(({ section, row }) => row !== undefined || !named.includes(section))
  );
}

function locateIn(rows: readonly OwnRow[], first: string): ReadDefinitions["faultOf"] {
  return ({ section, key, field = [], message }) => {
    const own = rows.find((row) => row.row && row.section === section && row.key === key);
    const where = [section, key, ...field].join(".");
    if (own !== undefined) {
      return own.source.faultAt([...own.path, ...field], { where, message });
    }
    return { file: first, where, message: `${message} (a row of the standard set)` };
  };
}

/** Joins the rows of all files with those that they extend. Pure. */
type Merged = {
  set: DefinitionSet;
  /** Rows that a file names as null. */
  removed: { section: Section; key: string }[];
  faults: Fault[];
};

/** Rows with faults are left out. A null removes the row of any file and of `base`. */
function mergeRows(base: DefinitionSet, own: readonly OwnRow[]): Merged {
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
