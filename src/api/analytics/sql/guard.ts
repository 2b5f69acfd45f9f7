/**
 * Turns a caller's SQL into the statement for the store. None of the caller's text is passed on: the query is
 * parsed by a grammar of our own, and the statement is generated from the result. No library parses
 * ClickHouse's dialect, and a parser of another one would admit what it misunderstands.
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
