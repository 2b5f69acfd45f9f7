/**
 * Turns a caller's SQL into the statement for the store. None of the caller's text is passed on: the query is
 * parsed by a grammar of our own, and the statement is generated from the result. No library parses
 * ClickHouse's dialect, and a parser of another one would admit what it misunderstands.
 */
import type { Retention } from "#api/analytics/retention.ts";
import { readColumns, readNamed } from "./columns.ts";
import { Cursor, type ParsedQuery, refuse, tokenize } from "./cursor.ts";
import { readExpression } from "./expression.ts";
import type { Piece, Unit } from "./fold.ts";
import { type Fill, maxFilledRows, readDirection, readFill, readLimits } from "./order.ts";
import { Names, Scope } from "./scope.ts";
import { readSources, type Source } from "./sources.ts";
import { type QueryTable, type TableSettings, TableWriter } from "./tables.ts";
import { requireReadable, type Units } from "./units.ts";

/** Reads the clauses of a query and generates its SQL, with allowed tables only. */
type SelectSettings = TableSettings & { nowMs: number };

/** Reads one whole query, and records which rows it reads. */
class SelectReader implements ParsedQuery {
  readonly nowMs: number;
  /** The earliest lower bound of `time`; undefined: the query has none. */
  lowerBoundMs: number | undefined;
  readonly #tables: TableWriter;
  /** The names that WITHs have defined, and what they refer to. */
  readonly #names = new Names();
  readonly #selects: Scope[] = [];
  /** Number of queries that enclose the present one. */
  #depth = 0;
  /** The units of the columns of the query that was read last. */
  #answered: Units = new Map();
  #filledRows = 0;
  #isConstant = false;

  constructor(settings: SelectSettings) {
    this.#tables = new TableWriter(settings);
    this.nowMs = settings.nowMs;
  }

  get used(): ReadonlySet<QueryTable> {
    return this.#tables.used;
  }

  recordLowerBound(atMs: number | undefined): void {
    // NaN comes from an invalid time, which the store refuses by itself.
    if (atMs === undefined || Number.isNaN(atMs)) return;
    this.lowerBoundMs = Math.min(atMs, this.lowerBoundMs ?? atMs);
  }

  readSubquery(cursor: Cursor): string {
    this.#depth += 1;
    const sql = this.#readInBrackets(cursor);
    this.#depth -= 1;
    return sql;
  }

  #readInBrackets(cursor: Cursor): string {
    const sql = cursor.nested(() => this.readQuery(cursor));
    cursor.expectMark(")");
    return sql;
  }

  readScalar(cursor: Cursor): Piece {
    const sql = `(${this.readSubquery(cursor)})`;
    const [answered] = this.#answered;
    return answered === undefined ? { sql } : { sql, column: answered[0], unit: answered[1] };
  }

  /** A list may have constants only: the store would take a single name in brackets for a table. */
  readSet(cursor: Cursor): { items: Piece[] } | { rows: Piece } {
    if (!cursor.takeMark("(")) throw cursor.unexpected("a list in brackets or a subquery");
    if (cursor.isWord("select") || cursor.isWord("with")) {
      this.recordReference(cursor);
      return { rows: this.readScalar(cursor) };
    }
    const items = this.#readConstants(() => cursor.list(() => readExpression(cursor, this)));
    cursor.expectMark(")");
    return { items };
  }

  unitOf(names: readonly string[]): Unit | undefined {
    return this.#selects.at(-1)?.unitOf(names);
  }

  namedValue(name: string): Piece | undefined {
    return this.#names.valueOf(name);
  }

  withParameter<Result>(name: string, read: () => Result): Result {
    return this.#names.withParameter(name, read);
  }

  recordReference(cursor: Cursor): void {
    if (this.#isConstant) throw cursor.unexpected("a constant: a list after IN has no others");
  }

  /** `[WITH …] SELECT … [UNION ALL SELECT …]`. */
  readQuery(cursor: Cursor): string {
    const leave = this.#names.enter();
    const prefix = cursor.takeWord("with") ? `WITH ${this.#readNamed(cursor)} ` : "";
    if (prefix !== "" && !cursor.isWord("select")) throw cursor.unexpected("SELECT");
    const parts = [this.#readTerm(cursor)];
    for (let mark = takeSetMark(cursor); mark !== undefined; mark = takeSetMark(cursor)) {
      parts.push(mark, this.#readTerm(cursor));
    }
    leave();
    return `${prefix}${parts.join(" ")}`;
  }

  #readNamed(cursor: Cursor): string {
    return readNamed(cursor, {
      reading: this,
      names: this.#names,
      readSubquery: () => this.#readSource(cursor),
      isTable: (name) => this.#tables.has(name),
    });
  }

  #readSource(cursor: Cursor): Source {
    return { sql: this.readSubquery(cursor), units: this.#answered };
  }

  #readTerm(cursor: Cursor): string {
    if (!cursor.takeMark("(")) return this.#readSelect(cursor);
    return `(${this.#readInBrackets(cursor)})`;
  }

  #readSelect(cursor: Cursor): string {
    if (!cursor.takeWord("select")) {
      throw refuse("type", "Only SELECT queries are allowed.");
    }
    const scope = new Scope();
    this.#selects.push(scope);
    const distinct = cursor.takeWord("distinct") ? "DISTINCT " : "";
    if (cursor.isWord("top") && cursor.peek(1).kind === "number") {
      throw refuse("syntax", "TOP is not allowed: write LIMIT at the end of the query.");
    }
    const start = cursor.place();
    // FROM is read first, as the units of the columns depend on it.
    const from =
      cursor.skipTo(["from", ...afterColumns]) === "from"
        ? this.#readFrom(cursor, scope)
        : undefined;
    const end = cursor.place();
    cursor.goTo(start);
    // Only in the outermost query: an outer query may merge the states of an inner one.
    const isSummed = from?.summed === true && this.#depth === 0;
    const parts = [`SELECT ${distinct}${readColumns(cursor, { reading: this, scope, isSummed })}`];
    if (from !== undefined) {
      if (!cursor.isWord("from")) throw cursor.unexpected("FROM");
      parts.push(from.sql);
      cursor.goTo(end);
    }
    parts.push(...this.#readClauses(cursor));
    this.#selects.pop();
    this.#answered = scope.answered;
    if (this.#depth === 0) requireReadable(scope.answered);
    return parts.join(" ");
  }

  #readFrom(cursor: Cursor, scope: Scope): { sql: string; summed: boolean } {
    cursor.expectWord("from");
    const { text } = cursor.peek();
    const table = this.#names.find(text) === undefined ? this.#tables.get(text) : undefined;
    const place = cursor.place();
    const sql = `FROM ${readSources(cursor, {
      reading: this,
      scope,
      readSubquery: () => this.#readSource(cursor),
      findTable: (name) => this.#findSource(name),
    })}`;
    // A single table, perhaps with an alias, has at most three words.
    const isAlone = cursor.place() - place <= 3;
    return { sql, summed: isAlone && table !== undefined && table.kept !== "raw" };
  }

  #readClauses(cursor: Cursor): string[] {
    const parts: string[] = [];
    for (const [word, ...more] of [["where"], ["group", "by"], ["having"], ["order", "by"]]) {
      if (!cursor.takeWord(word ?? "", ...more)) continue;
      const keyword = [word, ...more].join(" ").toUpperCase();
      parts.push(`${keyword} ${this.#readClause(cursor, keyword)}`);
    }
    return [...parts, ...readLimits(cursor, () => readExpression(cursor, this))];
  }

  #readClause(cursor: Cursor, keyword: string): string {
    const read = () => readExpression(cursor, this).sql;
    if (keyword === "WHERE" || keyword === "HAVING") return read();
    if (keyword === "GROUP BY") {
      return cursor.takeWord("all") ? "ALL" : cursor.list(read).join(", ");
    }
    const fills: Fill[] = [];
    const items = cursor.list(() => {
      const item = `${read()}${readDirection(cursor)}`;
      const fill = readFill(cursor, () => this.#readConstants(() => readExpression(cursor, this)));
      if (fill !== undefined) fills.push(fill);
      return `${item}${fill?.sql ?? ""}`;
    });
    if (fills.length > 0) this.#countFilled(fills, items.length);
    return items.join(", ");
  }

  #countFilled(fills: readonly Fill[], items: number): void {
    if (items > 1) throw refuse("syntax", "WITH FILL wants an ORDER BY of one expression alone.");
    this.#filledRows += fills[0]?.rows ?? 0;
    if (this.#filledRows > maxFilledRows) {
      throw refuse(
        "syntax",
        `WITH FILL would make more than ${maxFilledRows} rows: take longer steps.`,
      );
    }
  }

  #readConstants<Result>(read: () => Result): Result {
    const wasConstant = this.#isConstant;
    this.#isConstant = true;
    const result = read();
    this.#isConstant = wasConstant;
    return result;
  }

  #findSource(name: string): Source {
    const named = this.#names.find(name);
    if (named === undefined || !("query" in named)) return this.#tables.write(name);
    return { sql: named.query, units: named.units };
  }
}

/** Words that end a SELECT without a FROM. */
const afterColumns = "where group having order limit offset union except intersect".split(" ");

function takeSetMark(cursor: Cursor): string | undefined {
  if (cursor.takeWord("union")) {
    if (cursor.takeWord("all")) return "UNION ALL";
    if (cursor.takeWord("distinct")) return "UNION DISTINCT";
    throw cursor.unexpected("ALL or DISTINCT");
  }
  const word = ["EXCEPT", "INTERSECT"].find((one) => cursor.takeWord(one.toLowerCase()));
  if (word !== undefined && cursor.isWord("all")) throw cursor.unexpected("DISTINCT or SELECT");
  return word !== undefined && cursor.takeWord("distinct") ? `${word} DISTINCT` : word;
}

type GuardSettings = {
  database: string;
  tables: ReadonlyMap<string, QueryTable>;
  /** SQL condition on their visible rows. */
  condition: string;
  retention: Retention;
  nowMs: number;
};

const dayMs = 86_400_000;

/** The statement to run, restricted to the rows that may be read. Throws the 400 of a query that is not allowed. */
export function guardQuery(query: string, settings: GuardSettings): string {
  const cursor = new Cursor(tokenize(query));
  const reader = new SelectReader(settings);
  if (cursor.peek().kind === "end") throw refuse("syntax", "The query is empty.");
  const sql = reader.readQuery(cursor);
  cursor.takeMark(";");
  if (cursor.peek().kind !== "end") throw afterEnd(cursor);
  requireRetained(reader, settings);
  return sql;
}

function afterEnd(cursor: Cursor) {
  return cursor.isWord("settings") || cursor.isWord("format") || cursor.isWord("into")
    ? refuse("syntax", `${cursor.peek().text.toUpperCase()} is not allowed in a query.`)
    : cursor.unexpected("the end of the query");
}

/** Refuses a query beyond the retention: its result would be taken for complete. */
function requireRetained(reader: SelectReader, { retention, nowMs }: GuardSettings): void {
  const { used, lowerBoundMs } = reader;
  if (lowerBoundMs === undefined || used.size === 0) return;
  const days = Math.max(...[...used].map(({ kept }) => retention[kept]));
  // A day more: `now() - INTERVAL 30 DAY` means all of 30 days.
  const oldestMs = nowMs - (days + 1) * dayMs;
  if (lowerBoundMs >= oldestMs) return;
  throw refuse(
    "retention",
    `The query asks from ${writeMoment(lowerBoundMs)} on; rows are kept for ${days} days.`,
  );
}

/** The computed time may be before the first one that a `Date` can represent. */
function writeMoment(atMs: number): string {
  return new Date(Math.max(atMs, -8.64e15)).toISOString();
}
