import { applyEdits, type ModificationOptions, modify } from "jsonc-parser";
import { type AddRow, sectionOf, withoutKey } from "./new-row.ts";

/** Keeps comments, and the formatting of everything else. */
export const addToJson: AddRow = (source, added) => {
  const { text } = source;
  const { section, row } = added;
  const formattingOptions = {
    insertSpaces: !/^\t/m.test(text),
    tabSize: /^( +)\S/m.exec(text)?.[1]?.length ?? 2,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
  const change = (path: (string | number)[], value: unknown, options?: ModificationOptions) =>
    applyEdits(text, modify(text, path, value, { formattingOptions, ...options }));
  const held = sectionOf(source, section);
  if (held === undefined) return change([section], [row]);
  if (Array.isArray(held)) {
    return change([section, held.length], row, { isArrayInsertion: true });
  }
  const { key, rest } = withoutKey(added);
  return change([section, key], rest);
};
