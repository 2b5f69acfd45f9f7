/** Reads the clauses of a query and writes them anew, with tables that may be read alone. */
import type { Cursor } from "./cursor.ts";
import { readExpression } from "./expression.ts";
import { isReserved, readIdentifier } from "./primary.ts";
import type { Reading } from "./reading.ts";
import { refuse } from "./refusal.ts";
import type { QueryTable } from "./tables.ts";
import { writeName } from "./write.ts";

const maxColumns = 64;

/** Each time that a table is named counts: the condition is written each time. */
const maxTables = 20;

export type SelectSettings = {
  /** Where the tables are in the store. */
  database: string;
  tables: ReadonlyMap<string, QueryTable>;
  /** Which rows of each of them may be seen, as SQL. */
  condition: string;
  nowMs: number;
};

/** One query: reads it whole, and remembers what it asks for. */
export class SelectReader implements Reading {
  readonly nowMs: number;
  readonly used = new Set<QueryTable>();
  /** From when on rows are asked for at the earliest; undefined: the query does not say. */
  lowerBoundMs: number | undefined;
  readonly #settings: SelectSettings;
  /** What the queries that a WITH has put before others are written as, by the names that they were given. */
  readonly #scopes: Map<string, string>[] = [];
  #namedQueries = 0;
  #tableReferences = 0;
  #isConstant = false;

  constructor(settings: SelectSettings) {
    this.#settings = settings;
    this.nowMs = settings.nowMs;
  }

  noteLowerBound(atMs: number | undefined): void {
    if (atMs !== undefined) this.lowerBoundMs = Math.min(atMs, this.lowerBoundMs ?? atMs);
  }

  readSubquery(cursor: Cursor): string {
    const sql = cursor.nested(() => this.readQuery(cursor));
    cursor.expectMark(")");
    return sql;
  }

  /** A list has constants alone: the store takes a single name in brackets for a table. */
  readSet(cursor: Cursor): string {
    if (!cursor.takeMark("(")) throw cursor.unexpected("a list in brackets or a subquery");
    if (cursor.isWord("select") || cursor.isWord("with")) {
      this.noteReference(cursor);
      return `(${this.readSubquery(cursor)})`;
    }
    const wasConstant = this.#isConstant;
    this.#isConstant = true;
    const items = cursor.list(() => readExpression(cursor, this).sql);
    this.#isConstant = wasConstant;
    cursor.expectMark(")");
    return `(${items.join(", ")})`;
  }

  noteReference(cursor: Cursor): void {
    if (this.#isConstant) throw cursor.unexpected("a constant: a list after IN has no others");
  }

  /** `[WITH …] SELECT … [UNION ALL SELECT …]`. */
  readQuery(cursor: Cursor): string {
    const scope = new Map<string, string>();
    this.#scopes.push(scope);
    const prefix = cursor.takeWord("with") ? `WITH ${this.#readNamed(cursor, scope)} ` : "";
    if (prefix !== "" && !cursor.isWord("select")) throw cursor.unexpected("SELECT");
    const parts = [this.#readTerm(cursor)];
    for (let mark = takeSetMark(cursor); mark !== undefined; mark = takeSetMark(cursor)) {
      parts.push(mark, this.#readTerm(cursor));
    }
    this.#scopes.pop();
    return `${prefix}${parts.join(" ")}`;
  }

  /** Names of our own, which no table has: what the store does not find there it finds nowhere. */
  #readNamed(cursor: Cursor, scope: Map<string, string>): string {
    const named = cursor.list(() => {
      const name = readIdentifier(cursor, "a name");
      if (this.#settings.tables.has(name)) {
        throw refuse("table", `A query of a WITH cannot have the name of the table ${name}.`);
      }
      cursor.expectWord("as");
      cursor.expectMark("(");
      const sql = this.readSubquery(cursor);
      this.#namedQueries += 1;
      const written = writeName(`named query ${this.#namedQueries}`);
      // Only now: it cannot read itself.
      scope.set(name, written);
      return `${written} AS (${sql})`;
    });
    return named.join(", ");
  }

  #readTerm(cursor: Cursor): string {
    if (!cursor.takeMark("(")) return this.#readSelect(cursor);
    return `(${this.readSubquery(cursor)})`;
  }

  #readSelect(cursor: Cursor): string {
    if (!cursor.takeWord("select")) {
      throw refuse("type", "Only SELECT queries are allowed.");
    }
    const distinct = cursor.takeWord("distinct") ? "DISTINCT " : "";
    const parts = [`SELECT ${distinct}${this.#readColumns(cursor)}`];
    if (cursor.takeWord("from")) parts.push(`FROM ${this.#readSources(cursor)}`);
    for (const [word, ...more] of [["where"], ["group", "by"], ["having"], ["order", "by"]]) {
      if (!cursor.takeWord(word ?? "", ...more)) continue;
      const keyword = [word, ...more].join(" ").toUpperCase();
      parts.push(`${keyword} ${this.#readClause(cursor, keyword)}`);
    }
    return [...parts, ...readLimit(cursor)].join(" ");
  }

  #readClause(cursor: Cursor, keyword: string): string {
    const read = () => readExpression(cursor, this).sql;
    if (keyword === "WHERE" || keyword === "HAVING") return read();
    if (keyword === "GROUP BY") return cursor.list(read).join(", ");
    return cursor.list(() => `${read()}${readDirection(cursor)}`).join(", ");
  }

  #readColumns(cursor: Cursor): string {
    const columns = cursor.list(() => this.#readColumn(cursor));
    if (columns.length > maxColumns) {
      throw refuse("syntax", `The query selects more than ${maxColumns} columns.`);
    }
    return columns.join(", ");
  }

  #readColumn(cursor: Cursor): string {
    if (cursor.takeMark("*")) return "*";
    if (cursor.isMark(".", 1) && cursor.isMark("*", 2)) {
      const table = readIdentifier(cursor, "a table");
      cursor.expectMark(".");
      cursor.expectMark("*");
      return `${writeName(table)}.*`;
    }
    return `${readExpression(cursor, this).sql}${readAlias(cursor)}`;
  }

  #readSources(cursor: Cursor): string {
    const parts = [this.#readSource(cursor)];
    for (;;) {
      const join = takeJoin(cursor);
      if (join === undefined) return parts.join(" ");
      if (join.endsWith("ARRAY JOIN")) {
        const arrays = cursor.list(() => `${readExpression(cursor, this).sql}${readAlias(cursor)}`);
        parts.push(`${join} ${arrays.join(", ")}`);
        continue;
      }
      const source = this.#readSource(cursor);
      parts.push(
        join === "CROSS JOIN" ? `${join} ${source}` : `${join} ${source}${this.#readOn(cursor)}`,
      );
    }
  }

  #readOn(cursor: Cursor): string {
    if (cursor.takeWord("on")) return ` ON ${readExpression(cursor, this).sql}`;
    if (!cursor.takeWord("using")) throw cursor.unexpected("ON or USING");
    const hasBrackets = cursor.takeMark("(");
    const names = cursor.list(() => writeName(readIdentifier(cursor, "a column")));
    if (hasBrackets) cursor.expectMark(")");
    return ` USING (${names.join(", ")})`;
  }

  #readSource(cursor: Cursor): string {
    if (cursor.takeMark("(")) return `(${this.readSubquery(cursor)})${readAlias(cursor)}`;
    const { text } = cursor.peek();
    const name = readIdentifier(cursor, "a table");
    if (cursor.isMark(".") || cursor.isMark("("))
      throw this.#unknownTable(`${text}${cursor.peek().text}`);
    const alias = readAlias(cursor) || ` AS ${writeName(name)}`;
    const named = this.#scopes.findLast((scope) => scope.has(name))?.get(name);
    return `${named ?? this.#writeTable(name)}${alias}`;
  }

  /** The rows of a table that may be seen. Its conditions have a scope of their own, which no alias reaches. */
  #writeTable(name: string): string {
    const { tables, database, condition } = this.#settings;
    const table = tables.get(name);
    if (table === undefined) throw this.#unknownTable(name);
    this.#tableReferences += 1;
    if (this.#tableReferences > maxTables) {
      throw refuse("syntax", `The query names tables more than ${maxTables} times.`);
    }
    this.used.add(table);
    return `(SELECT * FROM ${database}.${table.name} WHERE ${condition})`;
  }

  #unknownTable(name: string) {
    const known = [...this.#settings.tables.keys()].join(", ");
    return refuse("table", `There is no table ${name} to read; there are ${known}.`);
  }
}

function takeSetMark(cursor: Cursor): string | undefined {
  if (cursor.takeWord("union")) {
    if (cursor.takeWord("all")) return "UNION ALL";
    if (cursor.takeWord("distinct")) return "UNION DISTINCT";
    throw cursor.unexpected("ALL or DISTINCT");
  }
  return ["EXCEPT", "INTERSECT"].find((word) => cursor.takeWord(word.toLowerCase()));
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

/** ` AS name`, or nothing. */
function readAlias(cursor: Cursor): string {
  const isNamed = cursor.takeWord("as");
  const token = cursor.peek();
  const isName = token.kind === "name" || (token.kind === "word" && !isReserved(token));
  if (!isNamed && !isName) return "";
  return ` AS ${writeName(readIdentifier(cursor, "a name"))}`;
}

function readDirection(cursor: Cursor): string {
  const direction = ["ASC", "DESC"].find((word) => cursor.takeWord(word.toLowerCase()));
  const nulls = ["FIRST", "LAST"].find((word) => cursor.takeWord("nulls", word.toLowerCase()));
  return `${direction === undefined ? "" : ` ${direction}`}${nulls === undefined ? "" : ` NULLS ${nulls}`}`;
}

/** `LIMIT n`, `LIMIT n OFFSET m`, `LIMIT m, n`, `OFFSET m`; whole numbers only. */
function readLimit(cursor: Cursor): string[] {
  const parts: string[] = [];
  if (cursor.takeWord("limit")) {
    const first = readCount(cursor);
    parts.push(cursor.takeMark(",") ? `LIMIT ${first}, ${readCount(cursor)}` : `LIMIT ${first}`);
  }
  if (cursor.takeWord("offset")) parts.push(`OFFSET ${readCount(cursor)}`);
  return parts;
}

function readCount(cursor: Cursor): string {
  const token = cursor.peek();
  if (token.kind !== "number" || !/^\d{1,9}$/.test(token.text))
    throw cursor.unexpected("a whole number");
  cursor.next();
  return token.text;
}
