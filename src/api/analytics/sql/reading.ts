/** What the parts of the reader share while one query is read. */
import type { Cursor } from "./cursor.ts";
import type { Piece, Unit } from "./fold.ts";

export type ParsedQuery = {
  nowMs: number;
  /** Reads `(SELECT …)` that stands for a value, its first bracket taken already. */
  readScalar: (cursor: Cursor) => Piece;
  /** What follows IN: a list of constants in brackets or a subquery. */
  readSet: (cursor: Cursor) => { items: Piece[] } | { rows: Piece };
  /** Called for each name of a column and each subquery in an expression; throws where there may be none. */
  noteReference: (cursor: Cursor) => void;
  /** What a column is counted in, of the tables of the query that is read; undefined: it is no time. */
  unitOf: (names: readonly string[]) => Unit | undefined;
  /** What a WITH has given this name to, as an expression. */
  namedValue: (name: string) => Piece | undefined;
  /** Reads what has parameters of its own, which no name of a WITH stands for. */
  withParameter: <Result>(name: string, read: () => Result) => Result;
  /** From when on rows are asked for; undefined: not a constant. Unix milliseconds. */
  noteLowerBound: (atMs: number | undefined) => void;
};
