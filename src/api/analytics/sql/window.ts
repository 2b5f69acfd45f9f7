/** Reads what follows OVER: `(PARTITION BY … ORDER BY … ROWS BETWEEN …)`. */
import type { Cursor } from "./cursor.ts";
import type { Piece } from "./fold.ts";
import { readDirection } from "./order.ts";

/** Functions that are only allowed over a window. */
export const windowFunctions = new Set([
  ...["row_number", "rank", "dense_rank", "percent_rank", "lagInFrame", "leadInFrame"],
  ...["first_value", "last_value"],
]);

/** ` OVER (…)`, or nothing. Named windows are not supported. */
export function readOver(cursor: Cursor, read: () => Piece): string {
  if (!cursor.takeWord("over")) return "";
  cursor.expectMark("(");
  const parts: string[] = [];
  if (cursor.takeWord("partition", "by")) {
    parts.push(`PARTITION BY ${cursor.list(() => read().sql).join(", ")}`);
  }
  if (cursor.takeWord("order", "by")) {
    const items = cursor.list(() => `${read().sql}${readDirection(cursor)}`);
    parts.push(`ORDER BY ${items.join(", ")}`);
  }
  parts.push(...readFrame(cursor));
  cursor.expectMark(")");
  return ` OVER (${parts.join(" ")})`;
}

function readFrame(cursor: Cursor): string[] {
  const unit = ["ROWS", "RANGE"].find((one) => cursor.takeWord(one.toLowerCase()));
  if (unit === undefined) return [];
  if (!cursor.takeWord("between")) return [`${unit} ${readBound(cursor)}`];
  const first = readBound(cursor);
  cursor.expectWord("and");
  return [`${unit} BETWEEN ${first} AND ${readBound(cursor)}`];
}

function readBound(cursor: Cursor): string {
  if (cursor.takeWord("current", "row")) return "CURRENT ROW";
  const count = cursor.takeWord("unbounded") ? "UNBOUNDED" : cursor.takeCount();
  const side = ["PRECEDING", "FOLLOWING"].find((one) => cursor.takeWord(one.toLowerCase()));
  if (side === undefined) throw cursor.unexpected("PRECEDING or FOLLOWING");
  return `${count} ${side}`;
}
