/** Reads WITH: named queries and named values. */
import type { Cursor } from "./cursor.ts";
import { readExpression } from "./expression.ts";
import { readName } from "./primary.ts";
import type { ParsedQuery } from "./reading.ts";
import { refuse } from "./refusal.ts";
import type { Names } from "./scope.ts";
import type { Source } from "./sources.ts";
import { writeName } from "./write.ts";

export type NamedReading = {
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
