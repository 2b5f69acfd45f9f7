import { stringify } from "smol-toml";
import { type AddRow, NoPlace, sectionOf, withoutKey } from "./new-row.ts";

/** Appends a table: everything else stays as it is. */
export const addToToml: AddRow = (source, added) => {
  const { section, row } = added;
  const held = sectionOf(source, section);
  const isListed = held === undefined || Array.isArray(held);
  const header = isListed ? `\\[\\[\\s*${section}\\s*\\]\\]` : `\\[\\s*${section}\\s*[.\\]]`;
  // What is written in one line cannot be continued elsewhere.
  const canContinue = new RegExp(`^\\s*${header}`, "m").test(source.text);
  if (held !== undefined && !canContinue) throw new NoPlace();
  const { key, rest } = withoutKey(added);
  return append(source.text, stringify({ [section]: isListed ? [row] : { [key]: rest } }));
};

function append(text: string, table: string): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const before = text.trimEnd();
  const gap = before === "" ? "" : eol + eol;
  return `${before}${gap}${table.trim().replaceAll("\n", eol)}${eol}`;
}
