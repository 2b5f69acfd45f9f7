/** Reads what follows FROM: tables, subqueries, and how they are joined. */
import type { Cursor, ParsedQuery } from "./cursor.ts";
import { readExpression } from "./expression.ts";
import { isReserved, readIdentifier, readName } from "./primary.ts";
import type { Scope } from "./scope.ts";
import type { Units } from "./units.ts";
import { writeName } from "./write.ts";

export type Source = { sql: string; units: Units };

export type SourceReading = {
  reading: ParsedQuery;
  /** The scope of the SELECT that they belong to. */
  scope: Scope;
  /** Called after the opening bracket. */
  readSubquery: (cursor: Cursor) => Source;
  /** Throws the refusal of a table that may not be read. */
  findTable: (name: string) => Source;
};

export function readSources(cursor: Cursor, from: SourceReading): string {
  const parts = [readSource(cursor, from)];
  for (;;) {
    const join = takeJoin(cursor);
    if (join === undefined) return parts.join(" ");
    if (join.endsWith("ARRAY JOIN")) {
      const arrays = cursor.list(() => readArray(cursor, from.reading));
      parts.push(`${join} ${arrays.join(", ")}`);
      continue;
    }
    const source = readSource(cursor, from);
    const on = join === "CROSS JOIN" ? "" : readOn(cursor, from.reading);
    parts.push(`${join} ${source}${on}`);
  }
}

function readArray(cursor: Cursor, reading: ParsedQuery): string {
  return `${readExpression(cursor, reading).sql}${writeAlias(takeAlias(cursor))}`;
}

function readOn(cursor: Cursor, reading: ParsedQuery): string {
  if (cursor.takeWord("on")) return ` ON ${readExpression(cursor, reading).sql}`;
  if (!cursor.takeWord("using")) throw cursor.unexpected("ON or USING");
  const hasBrackets = cursor.takeMark("(");
  const names = cursor.list(() => writeName(readIdentifier(cursor, "a column")));
  if (hasBrackets) cursor.expectMark(")");
  return ` USING (${names.join(", ")})`;
}

function readSource(cursor: Cursor, { scope, readSubquery, findTable }: SourceReading): string {
  if (cursor.takeMark("(")) {
    const { sql, units } = readSubquery(cursor);
    const alias = takeAlias(cursor);
    scope.addSource(alias ?? "", units);
    return `(${sql})${writeAlias(alias)}`;
  }
  const { text } = cursor.peek();
  const name = readIdentifier(cursor, "a table");
  if (cursor.isMark(".") || cursor.isMark("(")) findTable(`${text}${cursor.peek().text}`);
  const alias = takeAlias(cursor) ?? name;
  const { sql, units } = findTable(name);
  scope.addSource(alias, units);
  return `${sql}${writeAlias(alias)}`;
}

const joins = [
  ["left", "array", "join"],
  ["array", "join"],
  ["inner", "join"],
  ["left", "outer", "join"],
  ["left", "join"],
  ["right", "outer", "join"],
  ["right", "join"],
  ["full", "outer", "join"],
  ["full", "join"],
  ["cross", "join"],
  ["join"],
];

function takeJoin(cursor: Cursor): string | undefined {
  if (cursor.takeMark(",")) return "CROSS JOIN";
  const words = joins.find((one) => cursor.takeWord(...one));
  return words?.join(" ").toUpperCase();
}

/** `AS name` or `name`, or nothing. */
export function takeAlias(cursor: Cursor): string | undefined {
  const isNamed = cursor.takeWord("as");
  const token = cursor.peek();
  const isName = token.kind === "name" || (token.kind === "word" && !isReserved(token));
  return isNamed || isName ? readName(cursor, "a name") : undefined;
}

export function writeAlias(alias: string | undefined): string {
  return alias === undefined ? "" : ` AS ${writeName(alias)}`;
}
