/** State shared by the readers of a query's parts. */
import type { Cursor } from "./cursor.ts";
import type { Piece, Unit } from "./fold.ts";

export type ParsedQuery = {
  nowMs: number;
  /** Reads a scalar subquery `(SELECT …)`, after its opening bracket. */
  readScalar: (cursor: Cursor) => Piece;
  /** Reads the right side of IN: a list of constants in brackets or a subquery. */
  readSet: (cursor: Cursor) => { items: Piece[] } | { rows: Piece };
  /** Called for each column and each subquery in an expression; throws where only constants are allowed. */
  recordReference: (cursor: Cursor) => void;
  /** The unit of a column of the present query's tables; undefined: it is not a time. */
  unitOf: (names: readonly string[]) => Unit | undefined;
  /** The expression that a WITH has given this name. */
  namedValue: (name: string) => Piece | undefined;
  /** Reads the body of a lambda, whose parameter hides a WITH's name. */
  withParameter: <Result>(name: string, read: () => Result) => Result;
  /** Notes a lower bound of `time`, unix milliseconds; undefined: not a constant. */
  recordLowerBound: (atMs: number | undefined) => void;
};
