/** A kind of change: where it is stored, and how a row of it becomes a change. */
import type { Change } from "#blame/contract.ts";

/** A row as the database driver returns it, with the columns of its query. */
// biome-ignore lint/suspicious/noExplicitAny: its shape is that of the query
export type Row = any;

export type KindOfChange = {
  /**
   * A bounded SELECT of the changes from $1 to $2 (timestamptz), newest first. $3: the hashes of the keys that checks
   * use (text[]).
   */
  sql: string;
  toChange: (row: Row) => Change;
};

/** Unix ms of a time, as a number. */
export const msOf = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::float8`;
