/**
 * Makes of a caller's SQL what the store is asked: nothing of the caller's text is passed on, the
 * query is read by a grammar of its own and written anew. No library reads ClickHouse's dialect, and
 * a parser of another one would let through what it takes for something else.
 */
import type { Retention } from "#api/analytics/retention.ts";
import { Cursor } from "./cursor.ts";
import { refuse } from "./refusal.ts";
import { SelectReader } from "./select.ts";
import type { QueryTable } from "./tables.ts";
import { tokenize } from "./tokens.ts";

export type GuardSettings = {
  database: string;
  tables: ReadonlyMap<string, QueryTable>;
  /** Which rows of each of them may be seen, as SQL. */
  condition: string;
  retention: Retention;
  nowMs: number;
};

const dayMs = 86_400_000;

/** The statement to run, of rows that may be read alone. Throws the 400 of what is not allowed. */
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

/** An answer that lacks what is no longer kept would be taken for the whole. */
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

/** What is worked out of a query may be before the first moment that a Date can tell. */
function writeMoment(atMs: number): string {
  return new Date(Math.max(atMs, -8.64e15)).toISOString();
}
