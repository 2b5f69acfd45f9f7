/** Adds a row to TypeScript or JavaScript, by the positions of a parser: everything else stays as it is. */
import { type ArrayExpression, type ObjectExpression, parse, type Token } from "acorn";
import {
  constantsOf,
  exportOf,
  nameOf as nameOfProperty,
  parserOptions,
  resolve,
} from "#definitions/file/typescript/positions.ts";
import { literalOf, nameOf } from "./literal.ts";
import { type AddRow, NoPlace, withoutKey } from "./new-row.ts";

type Holder = ArrayExpression | ObjectExpression;
/** The entry as text, for lines that begin with `indent`. */
type Write = (indent: string) => string;

export const addToCode: AddRow = ({ text, code }, added) => {
  const tokens: Token[] = [];
  // Offsets are those of the text, since the code has blanks in place of the types.
  const program = parse(code, { ...parserOptions, onToken: tokens });
  const constants = constantsOf(program);
  const config = resolve(exportOf(program), constants);
  if (config?.type !== "ObjectExpression" || code.length !== text.length) throw new NoPlace();
  const { section, row } = added;
  const unit = /^\t/m.test(text) ? "\t" : "  ";
  const property = config.properties.find((one) => nameOfProperty(one) === section);
  const insertInto = (holder: Holder, write: Write) =>
    insert({ text, tokens, unit }, holder, write);
  if (property?.type !== "Property") {
    return insertInto(config, (indent) => {
      const entry = literalOf(row, indent + unit, unit);
      return `${section}: [\n${indent}${unit}${entry},\n${indent}]`;
    });
  }
  const held = resolve(property.value, constants);
  if (held?.type === "ArrayExpression") {
    return insertInto(held, (indent) => literalOf(row, indent, unit));
  }
  if (held?.type !== "ObjectExpression") throw new NoPlace();
  const { key, rest } = withoutKey(added);
  return insertInto(held, (indent) => `${nameOf(key)}: ${literalOf(rest, indent, unit)}`);
};

type Text = { text: string; tokens: readonly Token[]; unit: string };

function insert({ text, tokens, unit }: Text, holder: Holder, write: Write): string {
  const close = holder.end - 1;
  const last = tokens.findLast(({ end }) => end <= close);
  if (last === undefined) throw new NoPlace();
  const isEmpty = last.start === holder.start;
  const comma = isEmpty || text.slice(last.start, last.end) === "," ? "" : ",";
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const lineStart = text.lastIndexOf("\n", close - 1) + 1;
  const around = text.slice(lineStart, close);
  const kept = `${text.slice(0, last.end)}${comma}`;
  if (lineStart > holder.start && around.trim() === "") {
    const entry = `${around}${unit}${write(around + unit)},\n`.replaceAll("\n", eol);
    return `${kept}${text.slice(last.end, lineStart)}${entry}${text.slice(lineStart)}`;
  }
  const indent = /^[ \t]*/.exec(text.slice(lineStart))?.[0] ?? "";
  if (isEmpty) {
    const entry = `\n${indent}${unit}${write(indent + unit)},\n${indent}`.replaceAll("\n", eol);
    return `${kept}${text.slice(last.end, close).trimEnd()}${entry}${text.slice(close)}`;
  }
  return `${kept} ${write(indent)}${text.slice(last.end)}`;
}
