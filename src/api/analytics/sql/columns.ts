/** Reads the selected columns, and records their units in the scope. */
import type { Cursor } from "./cursor.ts";
import { readExpression } from "./expression.ts";
import { readIdentifier } from "./primary.ts";
import type { ParsedQuery } from "./reading.ts";
import { refuse } from "./refusal.ts";
import type { Scope } from "./scope.ts";
import { takeAlias, writeAlias } from "./sources.ts";
import { readableColumns } from "./tables.ts";
import { writeName } from "./write.ts";

const maxColumns = 64;

export type ColumnReading = {
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
