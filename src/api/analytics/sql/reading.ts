/** What the parts of the reader share while one query is read. */
import type { Cursor } from "./cursor.ts";

export type Reading = {
  nowMs: number;
  /** Reads `(SELECT …)`, the brackets around it taken already. */
  readSubquery: (cursor: Cursor) => string;
  /** What follows IN: a list of constants in brackets or a subquery, brackets included. */
  readSet: (cursor: Cursor) => string;
  /** Called for each name of a column and each subquery in an expression; throws where there may be none. */
  noteReference: (cursor: Cursor) => void;
  /** From when on rows are asked for; undefined: not a constant. Unix milliseconds. */
  noteLowerBound: (atMs: number | undefined) => void;
};
