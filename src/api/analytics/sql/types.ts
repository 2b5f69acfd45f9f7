/** Reads `CAST(… AS type)`, `CAST(…, 'type')` and `…::type`, with types of single values only. */
import { Cursor, refuse, tokenize } from "./cursor.ts";
import type { Piece } from "./fold.ts";
import { asMoment, carriedState, requireZoneName } from "./units.ts";
import { writeText } from "./write.ts";

const plain = [
  ...["String", "Bool", "UUID", "Date", "Date32", "DateTime", "DateTime64", "Float32", "Float64"],
  ...[
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt128",
  ],
];
const wrapping = ["Nullable", "Array"];
const byLowerCase = new Map([...plain, ...wrapping].map((name) => [name.toLowerCase(), name]));

/** Reads the brackets after the word CAST. */
export function readCast(cursor: Cursor, read: () => Piece): Piece {
  cursor.expectMark("(");
  const from = read();
  const type = cursor.takeMark(",") ? readQuotedType(cursor) : readAsType(cursor);
  cursor.expectMark(")");
  return cast(from, type);
}

/** Reads the type after `::`. */
export function readCastMark(cursor: Cursor, from: Piece): Piece {
  return cast(from, readType(cursor));
}

function cast(from: Piece, type: string): Piece {
  const unit = unitOfType(type);
  const { sql } = unit === undefined ? from : asMoment(from);
  return { sql: `CAST(${sql} AS ${type})`, ...(unit && { unit }), ...carriedState([from]) };
}

function unitOfType(type: string): "day" | "moment" | undefined {
  const [, name] = /^(?:Nullable\()?(Date\w*)/.exec(type) ?? [];
  if (name === undefined) return undefined;
  return name.startsWith("DateTime") ? "moment" : "day";
}

function readAsType(cursor: Cursor): string {
  cursor.expectWord("as");
  return readType(cursor);
}

function readQuotedType(cursor: Cursor): string {
  const token = cursor.next();
  if (token.kind !== "text") throw refuse("syntax", "The type of a CAST is a word or a text.");
  const inner = new Cursor(tokenize(token.text));
  const type = readType(inner);
  if (inner.peek().kind !== "end") throw refuse("syntax", `${token.text} is no type for CAST.`);
  return type;
}

function readType(cursor: Cursor): string {
  const { kind, text } = cursor.next();
  const name = kind === "word" ? byLowerCase.get(text.toLowerCase()) : undefined;
  if (name === undefined) throw refuse("syntax", `${text} is no type for CAST.`);
  if (wrapping.includes(name)) {
    cursor.expectMark("(");
    const inner = cursor.nested(() => readType(cursor));
    cursor.expectMark(")");
    return `${name}(${inner})`;
  }
  if (!/^DateTime/.test(name) || !cursor.takeMark("(")) return name;
  const options = cursor.list(() => readOption(cursor));
  cursor.expectMark(")");
  return `${name}(${options.join(", ")})`;
}

/** A precision or a time zone. */
function readOption(cursor: Cursor): string {
  const token = cursor.peek();
  if (token.kind !== "text") return cursor.takeCount();
  cursor.next();
  requireZoneName(token.text);
  return writeText(token.text);
}
