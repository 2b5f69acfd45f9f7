/** Reads an expression and generates its SQL, from allowed elements only. */
import { type Cursor, type ParsedQuery, refuse } from "./cursor.ts";
import { foldProduct, foldSum, momentOf, type Piece } from "./fold.ts";
import { readPrimary } from "./primary.ts";
import { readCastMark } from "./types.ts";
import { asRowsAre, carriedState, inOneUnit, listInOneUnit, unitOfSum } from "./units.ts";

export function readExpression(cursor: Cursor, reading: ParsedQuery): Piece {
  return cursor.nested(() => readOr(cursor, reading));
}

type Reader = (cursor: Cursor, reading: ParsedQuery) => Piece;

function readOr(cursor: Cursor, reading: ParsedQuery): Piece {
  return joined(cursor, reading, { word: "or", reader: readAnd });
}

function readAnd(cursor: Cursor, reading: ParsedQuery): Piece {
  return joined(cursor, reading, { word: "and", reader: readNot });
}

function joined(
  cursor: Cursor,
  reading: ParsedQuery,
  { word, reader }: { word: "or" | "and"; reader: Reader },
): Piece {
  const first = reader(cursor, reading);
  const parts = [first.sql];
  while (cursor.takeWord(word)) parts.push(reader(cursor, reading).sql);
  return parts.length === 1 ? first : { sql: `(${parts.join(` ${word.toUpperCase()} `)})` };
}

function readNot(cursor: Cursor, reading: ParsedQuery): Piece {
  if (!cursor.takeWord("not")) return readComparison(cursor, reading);
  return { sql: `(NOT ${cursor.nested(() => readNot(cursor, reading)).sql})` };
}

const comparisons = ["=", "==", "!=", "<>", "<", "<=", ">", ">="];

function readComparison(cursor: Cursor, reading: ParsedQuery): Piece {
  const left = readConcatenation(cursor, reading);
  const mark = comparisons.find((one) => cursor.takeMark(one));
  if (mark !== undefined) return compare(left, mark, readConcatenation(cursor, reading), reading);
  if (cursor.takeWord("is")) {
    const not = cursor.takeWord("not") ? "NOT " : "";
    cursor.expectWord("null");
    return { sql: `(${left.sql} IS ${not}NULL)` };
  }
  const not = cursor.isWord("not") && cursor.takeWord("not") ? "NOT " : "";
  if (cursor.takeWord("in")) return readIn(cursor, reading, { left, not });
  if (cursor.takeWord("between")) return readBetween(cursor, reading, { left, not });
  for (const word of ["like", "ilike"] as const) {
    if (!cursor.takeWord(word)) continue;
    const right = readConcatenation(cursor, reading);
    return { sql: `(${left.sql} ${not}${word.toUpperCase()} ${right.sql})` };
  }
  if (not !== "") throw cursor.unexpected("IN, BETWEEN or LIKE");
  return left;
}

function compare(left: Piece, mark: string, right: Piece, reading: ParsedQuery): Piece {
  const isLower = mark === ">" || mark === ">=" || mark === "=" || mark === "==";
  const isUpper = mark === "<" || mark === "<=" || mark === "=" || mark === "==";
  if (isLower && left.column === "time") reading.recordLowerBound(momentOf(right.value));
  if (isUpper && right.column === "time") reading.recordLowerBound(momentOf(left.value));
  const [one, other] = inOneUnit(left, right);
  return { sql: `(${one.sql} ${mark} ${other.sql})` };
}

function readBetween(
  cursor: Cursor,
  reading: ParsedQuery,
  { left, not }: { left: Piece; not: string },
): Piece {
  const low = readConcatenation(cursor, reading);
  cursor.expectWord("and");
  const high = readConcatenation(cursor, reading);
  if (not === "" && left.column === "time") reading.recordLowerBound(momentOf(low.value));
  const [fromSide, from] = inOneUnit(left, low);
  const [toSide, to] = inOneUnit(left, high);
  if (fromSide.sql === toSide.sql) {
    return { sql: `(${fromSide.sql} ${not}BETWEEN ${from.sql} AND ${to.sql})` };
  }
  requireShort(left);
  const between = `((${fromSide.sql} >= ${from.sql}) AND (${toSide.sql} <= ${to.sql}))`;
  return { sql: not === "" ? between : `(NOT ${between})` };
}

/** The operand is duplicated in the SQL, and nested duplicates would grow exponentially. */
const repeatedAtMost = 1_024;

function requireShort({ sql }: Piece): void {
  if (sql.length <= repeatedAtMost) return;
  const bounds = "write both of its bounds in milliseconds, or both as dates";
  throw refuse("syntax", `What stands before BETWEEN is too long: ${bounds}.`);
}

function readConcatenation(cursor: Cursor, reading: ParsedQuery): Piece {
  const first = readSum(cursor, reading);
  const parts = [first.sql];
  while (cursor.takeMark("||")) parts.push(readSum(cursor, reading).sql);
  return parts.length === 1 ? first : { sql: `(${parts.join(" || ")})` };
}

function readSum(cursor: Cursor, reading: ParsedQuery): Piece {
  let left = readProduct(cursor, reading);
  for (;;) {
    const mark = (["+", "-"] as const).find((one) => cursor.takeMark(one));
    if (mark === undefined) return left;
    const right = readProduct(cursor, reading);
    left = {
      sql: `(${left.sql} ${mark} ${right.sql})`,
      value: foldSum(left.value, mark, right.value),
      unit: unitOfSum(left, right),
    };
  }
}

function readProduct(cursor: Cursor, reading: ParsedQuery): Piece {
  let left = readSigned(cursor, reading);
  for (;;) {
    const mark = ["*", "/", "%"].find((one) => cursor.takeMark(one));
    if (mark === undefined) return left;
    const right = readSigned(cursor, reading);
    left = {
      sql: `(${left.sql} ${mark} ${right.sql})`,
      value: foldProduct(left.value, mark, right.value),
    };
  }
}

function readSigned(cursor: Cursor, reading: ParsedQuery): Piece {
  if (!cursor.takeMark("-")) return readElement(cursor, reading);
  return { sql: `(-${cursor.nested(() => readSigned(cursor, reading)).sql})` };
}

function readElement(cursor: Cursor, reading: ParsedQuery): Piece {
  let piece = readPrimary(cursor, reading, readExpression);
  for (;;) {
    if (cursor.takeMark("::")) {
      piece = readCastMark(cursor, piece);
    } else if (cursor.takeMark("[")) {
      const { sql } = readExpression(cursor, reading);
      cursor.expectMark("]");
      piece = { sql: `${piece.sql}[${sql}]`, ...carriedState([piece]) };
    } else {
      return piece;
    }
  }
}

type LeftOperand = { left: Piece; not: string };

/** Called after the word IN. */
function readIn(cursor: Cursor, reading: ParsedQuery, { left, not }: LeftOperand): Piece {
  const set = reading.readSet(cursor);
  if ("rows" in set)
    return { sql: `(${asRowsAre(set.rows.unit, left).sql} ${not}IN ${set.rows.sql})` };
  if (not === "" && left.column === "time") {
    for (const { value } of set.items) reading.recordLowerBound(momentOf(value));
  }
  const [first = left, ...items] = listInOneUnit(left, set.items);
  return { sql: `(${first.sql} ${not}IN (${items.map(({ sql }) => sql).join(", ")}))` };
}
