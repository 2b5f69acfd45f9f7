/** The rows of one file, checked. */
import { z } from "zod";
import { type Section, sectionNames, sections } from "#definitions/rows/contract.ts";
import { wordsOf } from "#kernel/faults.ts";
import { hintOf } from "#kernel/nearest.ts";
import type { Fault } from "./fault.ts";
import type { Path } from "./offsets.ts";
import type { Source } from "./source.ts";
import { isObject, type Top } from "./top.ts";

export type OwnRow = {
  section: Section;
  /** Its id or name. */
  key: string;
  /** null: the row of this key is removed. undefined: it has faults. */
  row: object | null | undefined;
  source: Source;
  path: Path;
};

export function readRows(source: Source, top: Top): { rows: OwnRow[]; faults: Fault[] } {
  const read = sectionNames
    .filter((section) => section in top.sections)
    .map((section) => readSection(section, top.sections[section], source));
  return {
    rows: read.flatMap(({ rows }) => rows),
    faults: read.flatMap(({ faults }) => faults),
  };
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
  return {
    rows: read.flatMap(({ rows }) => rows),
    faults: read.flatMap(({ faults }) => faults),
  };
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
