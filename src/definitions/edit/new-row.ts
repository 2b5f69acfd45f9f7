/** A row that is to be added to a file. */
import type { Source } from "#definitions/file/source.ts";
import { keyOf, type Section, sections } from "#definitions/rows/contract.ts";

export type NewRow = {
  section: Section;
  /** As a file has it: with its id, and without what has a default. */
  row: Record<string, unknown>;
};

/** Returns the text of the file with the row. Throws `NoPlace`. */
export type AddRow = (source: Source, row: NewRow) => string;

/** The rows are not written in a way that a row can be added to. */
export class NoPlace extends Error {}

/** The row for an object in which its key is the name: without it. */
export function withoutKey({ section, row }: NewRow): { key: string; rest: NewRow["row"] } {
  const { [sections[section].key]: _key, ...rest } = row;
  return { key: keyOf(section, row), rest };
}

/** What the file has of a section; undefined: nothing, or no value. */
export function sectionOf({ data }: Source, section: Section): unknown {
  return (data as Partial<Record<Section, unknown>>)[section] ?? undefined;
}
