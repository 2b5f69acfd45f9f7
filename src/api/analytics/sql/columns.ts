/** Reads the selected columns, and records their units in the scope. */
import { type Cursor, type ParsedQuery, refuse } from "./cursor.ts";
import { readExpression } from "./expression.ts";
import { readIdentifier, readName } from "./primary.ts";
import type { Names, Scope } from "./scope.ts";
import { type Source, takeAlias, writeAlias } from "./sources.ts";
import { readableColumns } from "./tables.ts";
import { writeName } from "./write.ts";

type NamedReading = {
  reading: ParsedQuery;
  names: Names;
  /** Called after the opening bracket. */
  readSubquery: (cursor: Cursor) => Source;
  isTable: (name: string) => boolean;
};

/** The SQL uses generated names, which cannot be confused with any column or table. */
export function readNamed(cursor: Cursor, from: NamedReading): string {
  const read = () =>
    isWordAt(cursor, 1, "as") && cursor.isMark("(", 2)
      ? readQuery(cursor, from)
      : readValue(cursor, from);
  return cursor.list(read).join(", ");
}

function readQuery(cursor: Cursor, from: NamedReading): string {
  const name = readNewName(cursor, from);
  cursor.expectWord("as");
  cursor.expectMark("(");
  const { sql, units } = from.readSubquery(cursor);
  // Defined only now, so that the query cannot refer to itself.
  const own = writeName(from.names.next("query"));
  from.names.set(name, { query: own, units });
  return `${own} AS (${sql})`;
}

function readValue(cursor: Cursor, from: NamedReading): string {
  const value = readExpression(cursor, from.reading);
  cursor.expectWord("as");
  const name = readNewName(cursor, from);
  const own = writeName(from.names.next("value"));
  from.names.set(name, { value: { ...value, sql: own, heading: name } });
  return `${value.sql} AS ${own}`;
}

function readNewName(cursor: Cursor, { isTable }: NamedReading): string {
  const name = readName(cursor, "a name");
  if (!isTable(name)) return name;
  throw refuse("table", `What a WITH names cannot have the name of the table ${name}.`);
}

function isWordAt(cursor: Cursor, ahead: number, word: string): boolean {
  const token = cursor.peek(ahead);
  return token.kind === "word" && token.word === word;
}

const maxColumns = 64;

type ColumnReading = {
  reading: ParsedQuery;
  scope: Scope;
  /** True if `*` selects from a rollup alone and is returned to the caller, so that states are finalized. */
  isSummed: boolean;
};

export function readColumns(cursor: Cursor, from: ColumnReading): string {
  const columns = cursor.list(() => readColumn(cursor, from));
  if (columns.length > maxColumns) {
    throw refuse("syntax", `The query selects more than ${maxColumns} columns.`);
  }
  return columns.join(", ");
}

function readColumn(cursor: Cursor, { reading, scope, isSummed }: ColumnReading): string {
  if (cursor.takeMark("*")) {
    refuseModifier(cursor);
    if (isSummed) return readableColumns;
    scope.answerAll();
    return "*";
  }
  if (cursor.isMark(".", 1) && cursor.isMark("*", 2)) {
    const table = readIdentifier(cursor, "a table");
    cursor.expectMark(".");
    cursor.expectMark("*");
    refuseModifier(cursor);
    scope.answerAll(table);
    return `${writeName(table)}.*`;
  }
  const { sql, unit, column, heading } = readExpression(cursor, reading);
  const alias = takeAlias(cursor) ?? heading;
  if (alias !== undefined) scope.addAlias(alias, unit);
  // A column without a name cannot be referred to, but it is in the result all the same.
  const name = alias ?? column ?? sql;
  if (unit !== undefined) scope.answered.set(name, unit);
  return `${sql}${writeAlias(alias)}`;
}

function refuseModifier(cursor: Cursor): void {
  const found = ["except", "exclude", "replace", "apply"].find((word) => cursor.isWord(word));
  if (found === undefined) return;
  const fault = found === "except" ? "type" : "syntax";
  throw refuse(fault, `* ${found.toUpperCase()} is not allowed: name the columns.`);
}
