/** Reads the primary parts of an expression: literals, columns, calls, brackets. */
import { type Cursor, type ParsedQuery, refuse, type Token } from "./cursor.ts";
import { foldCall, intervalOf, intervalUnits, type Piece } from "./fold.ts";
import { allowedFunction, argumentsFor } from "./functions.ts";
import { readDirection } from "./order.ts";
import { readCast } from "./types.ts";
import { carriedState, unitOfCall } from "./units.ts";
import { writeName, writeText } from "./write.ts";

type ReadExpression = (cursor: Cursor, reading: ParsedQuery) => Piece;

/** Words that are no name where an expression or a table is wanted: one there means that the query was misread. */
const keywords =
  words(`select from where group order by having limit offset union except intersect distinct
  on using join with as and or not in between like ilike is settings format into all values insert`);

/** Words that are names there, and may follow an expression or a table, too. */
const clauses =
  words(`inner left right full outer cross array prewhere sample final global any asof semi
  anti window qualify fetch`);

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

/** True if the word cannot be an alias without an AS before it. */
export function isReserved(token: Token): boolean {
  return token.kind === "word" && (keywords.has(token.word) || clauses.has(token.word));
}

export function readPrimary(
  cursor: Cursor,
  reading: ParsedQuery,
  expression: ReadExpression,
): Piece {
  const token = cursor.peek();
  switch (token.kind) {
    case "number":
      cursor.next();
      return { sql: token.text, value: { kind: "number", of: Number(token.text) } };
    case "text":
      cursor.next();
      return { sql: writeText(token.text), value: { kind: "text", of: token.text } };
    case "mark":
      return readBrackets(cursor, reading, expression);
    case "word":
      return readWord(cursor, reading, expression);
    case "name":
      return readColumn(cursor, reading);
    case "end":
      throw cursor.unexpected("an expression");
  }
}

function readBrackets(cursor: Cursor, reading: ParsedQuery, expression: ReadExpression): Piece {
  const read = () => expression(cursor, reading);
  if (cursor.takeMark("[")) {
    if (cursor.takeMark("]")) return { sql: "[]" };
    const items = cursor.list(read);
    cursor.expectMark("]");
    return { sql: `[${items.map(({ sql }) => sql).join(", ")}]`, ...carriedState(items) };
  }
  cursor.expectMark("(");
  if (cursor.isWord("select") || cursor.isWord("with")) {
    reading.recordReference(cursor);
    return reading.readScalar(cursor);
  }
  const items = cursor.list(read);
  cursor.expectMark(")");
  const [only] = items;
  if (items.length === 1 && only !== undefined) return { ...only, sql: `(${only.sql})` };
  return { sql: `(${items.map(({ sql }) => sql).join(", ")})`, ...carriedState(items) };
}

function readWord(cursor: Cursor, reading: ParsedQuery, expression: ReadExpression): Piece {
  const read = () => expression(cursor, reading);
  for (const word of ["null", "true", "false"]) {
    if (cursor.takeWord(word)) return { sql: word.toUpperCase() };
  }
  if (cursor.isWord("case")) return readCase(cursor, read);
  if (cursor.isWord("interval") && isInterval(cursor)) return readInterval(cursor, read);
  if (cursor.isWord("cast") && cursor.isMark("(", 1)) {
    cursor.next();
    return readCast(cursor, read);
  }
  if (cursor.isMark("(", 1)) return readCall(cursor, reading, expression);
  return readColumn(cursor, reading);
}

function readCase(cursor: Cursor, read: () => Piece): Piece {
  cursor.expectWord("case");
  const parts = ["CASE"];
  const choices: Piece[] = [];
  const readChoice = () => {
    choices.push(read());
    return choices.at(-1)?.sql;
  };
  if (!cursor.isWord("when")) parts.push(read().sql);
  while (cursor.takeWord("when")) {
    const condition = read().sql;
    cursor.expectWord("then");
    parts.push(`WHEN ${condition} THEN ${readChoice()}`);
  }
  if (cursor.takeWord("else")) parts.push(`ELSE ${readChoice()}`);
  cursor.expectWord("end");
  return { sql: `(${parts.join(" ")} END)`, ...carriedState(choices) };
}

/** True if a value follows INTERVAL; else INTERVAL is a name. */
function isInterval(cursor: Cursor): boolean {
  const token = cursor.peek(1);
  if (token.kind === "mark")
    return token.text === "-" && intervalUnits.some(isUnit(cursor.peek(3)));
  if (token.kind !== "word") return token.kind !== "end";
  return !isReserved(token) && !["asc", "desc", "nulls"].includes(token.word);
}

const isUnit = (token: Token) => (unit: string) =>
  token.kind === "word" && token.word.replace(/s$/, "") === unit;

function readInterval(cursor: Cursor, read: () => Piece): Piece {
  cursor.expectWord("interval");
  const count = read();
  const unit = intervalUnits.find((one) => cursor.takeWord(one) || cursor.takeWord(`${one}s`));
  if (unit === undefined) throw cursor.unexpected("SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR");
  return {
    sql: `INTERVAL ${count.sql} ${unit.toUpperCase()}`,
    value: intervalOf(count.value, unit),
  };
}

/** `column` or `table.column`. Names that begin with `_` are internal to the store. */
function readColumn(cursor: Cursor, reading: ParsedQuery): Piece {
  reading.recordReference(cursor);
  const names = [readIdentifier(cursor, "a column")];
  if (cursor.takeMark(".")) names.push(readIdentifier(cursor, "a column"));
  const named = names.length === 1 ? reading.namedValue(names[0] ?? "") : undefined;
  if (named !== undefined) return named;
  const sql = names.map(writeName).join(".");
  return { sql, column: names.at(-1)?.toLowerCase(), unit: reading.unitOf(names) };
}

export function readIdentifier(cursor: Cursor, wanted: string): string {
  const token = cursor.peek();
  if (token.kind === "word" && keywords.has(token.word)) throw cursor.unexpected(wanted);
  return readName(cursor, wanted);
}

/** Reads a name where nothing else can be, as after AS: any word is one. */
export function readName(cursor: Cursor, wanted: string): string {
  const token = cursor.peek();
  if (token.kind !== "word" && token.kind !== "name") throw cursor.unexpected(wanted);
  if (token.text.startsWith("_")) {
    throw refuse("syntax", `The name ${token.text} is not allowed: it begins with an underscore.`);
  }
  cursor.next();
  return token.text;
}

/** `name(…)`, or `name(parameters)(…)` as for quantiles; also over a window. */
function readCall(cursor: Cursor, reading: ParsedQuery, expression: ReadExpression): Piece {
  const { text } = cursor.next();
  const name = allowedFunction(text);
  if (name === undefined) throw refuse("function", `The function ${text} is not allowed.`);
  const read = () => readArguments(cursor, { name, reading, expression });
  const first = read();
  const second = cursor.isMark("(") ? read() : undefined;
  if (name === "topK") requireBounded(second === undefined ? undefined : first.args[0]);
  const over = readOver(cursor, () => expression(cursor, reading));
  if (over === "" && windowFunctions.has(name))
    throw cursor.unexpected(`OVER, which ${name} needs`);
  const sql = `${name}(${first.sql})${second === undefined ? "" : `(${second.sql})`}${over}`;
  const { args } = second ?? first;
  const unit = unitOfCall(name, args);
  const state = unit === "state" ? carriedState(args) : {};
  return { sql, ...foldCall(name, first.args, reading.nowMs), ...state, unit };
}

/** Most values that a function may collect for each group. */
const maxKept = 1_000;

function requireBounded(count: Piece | undefined): void {
  if (count?.value?.kind === "number" && count.value.of <= maxKept) return;
  const example = "topK(10)(key_id)";
  throw refuse(
    "function",
    `topK wants the number of values first, ${maxKept} at most: ${example}.`,
  );
}

type Arguments = { name: string; reading: ParsedQuery; expression: ReadExpression };

function readArguments(cursor: Cursor, { name, reading, expression }: Arguments) {
  cursor.expectMark("(");
  if (cursor.takeMark(")")) return { sql: "", args: [] };
  if (cursor.isMark("*") && cursor.isMark(")", 1)) {
    cursor.next();
    cursor.next();
    return { sql: "*", args: [] };
  }
  const distinct = cursor.takeWord("distinct") ? "DISTINCT " : "";
  const args = argumentsFor(
    name,
    cursor.list(() => readArgument(cursor, reading, expression)),
  );
  cursor.expectMark(")");
  return { sql: `${distinct}${args.map(({ sql }) => sql).join(", ")}`, args };
}

/** An expression, or `x -> …` of the functions over arrays. */
function readArgument(cursor: Cursor, reading: ParsedQuery, expression: ReadExpression): Piece {
  if (cursor.isMark("->", 1)) {
    const name = readIdentifier(cursor, "a name");
    cursor.expectMark("->");
    const body = reading.withParameter(name, () => expression(cursor, reading));
    return { sql: `${writeName(name)} -> ${body.sql}`, ...carriedState([body]) };
  }
  return expression(cursor, reading);
}

/** Functions that are only allowed over a window. */
const windowFunctions = new Set([
  ...["row_number", "rank", "dense_rank", "percent_rank", "lagInFrame", "leadInFrame"],
  ...["first_value", "last_value"],
]);

/** ` OVER (…)`, or nothing. Named windows are not supported. */
function readOver(cursor: Cursor, read: () => Piece): string {
  if (!cursor.takeWord("over")) return "";
  cursor.expectMark("(");
  const parts: string[] = [];
  if (cursor.takeWord("partition", "by")) {
    parts.push(`PARTITION BY ${cursor.list(() => read().sql).join(", ")}`);
  }
  if (cursor.takeWord("order", "by")) {
    const items = cursor.list(() => `${read().sql}${readDirection(cursor)}`);
    parts.push(`ORDER BY ${items.join(", ")}`);
  }
  parts.push(...readFrame(cursor));
  cursor.expectMark(")");
  return ` OVER (${parts.join(" ")})`;
}

function readFrame(cursor: Cursor): string[] {
  const unit = ["ROWS", "RANGE"].find((one) => cursor.takeWord(one.toLowerCase()));
  if (unit === undefined) return [];
  if (!cursor.takeWord("between")) return [`${unit} ${readBound(cursor)}`];
  const first = readBound(cursor);
  cursor.expectWord("and");
  return [`${unit} BETWEEN ${first} AND ${readBound(cursor)}`];
}

function readBound(cursor: Cursor): string {
  if (cursor.takeWord("current", "row")) return "CURRENT ROW";
  const count = cursor.takeWord("unbounded") ? "UNBOUNDED" : cursor.takeCount();
  const side = ["PRECEDING", "FOLLOWING"].find((one) => cursor.takeWord(one.toLowerCase()));
  if (side === undefined) throw cursor.unexpected("PRECEDING or FOLLOWING");
  return `${count} ${side}`;
}
