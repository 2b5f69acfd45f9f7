/** Reads what follows an expression of ORDER BY, and the LIMITs after them. */
import { type Cursor, refuse } from "./cursor.ts";
import { lengthOf, momentOf, type Piece, type Value } from "./fold.ts";

/** Most rows that all WITH FILLs of a query may add. */
export const maxFilledRows = 10_000;

export function readDirection(cursor: Cursor): string {
  const direction = ["ASC", "DESC"].find((word) => cursor.takeWord(word.toLowerCase()));
  const nulls = ["FIRST", "LAST"].find((word) => cursor.takeWord("nulls", word.toLowerCase()));
  return `${direction === undefined ? "" : ` ${direction}`}${nulls === undefined ? "" : ` NULLS ${nulls}`}`;
}

export type Fill = { sql: string; rows: number };

/** ` WITH FILL FROM … TO … STEP …` with constants only, so that the number of added rows is known. */
export function readFill(cursor: Cursor, readConstant: () => Piece): Fill | undefined {
  if (!cursor.takeWord("with")) return undefined;
  cursor.expectWord("fill");
  const bounds = ["from", "to", "step"].map((word) =>
    cursor.takeWord(word) ? readConstant() : undefined,
  );
  const [from, to, step] = bounds;
  const rows = from && to && countRows(from.value, to.value, step ? step.value : one);
  if (from === undefined || to === undefined || rows === undefined) {
    throw refuse("syntax", "WITH FILL wants FROM and TO, and they and its STEP as constants.");
  }
  const written = step === undefined ? "" : ` STEP ${step.sql}`;
  return { sql: ` WITH FILL FROM ${from.sql} TO ${to.sql}${written}`, rows };
}

const one = { kind: "number", of: 1 } as const;

/** undefined: unknown. */
function countRows(from: Value | undefined, to: Value | undefined, step: Value | undefined) {
  const [span, width] =
    from?.kind === "number" && to?.kind === "number" && step?.kind === "number"
      ? [to.of - from.of, step.of]
      : [spanMs(from, to), stepMs(from, to, step)];
  if (span === undefined || width === undefined) return undefined;
  const rows = Math.ceil(Math.abs(span / width)) + 1;
  return Number.isFinite(rows) ? rows : undefined;
}

function spanMs(from: Value | undefined, to: Value | undefined): number | undefined {
  const isTime = [from, to].every((value) => value?.kind === "date" || value?.kind === "time");
  const [fromMs, toMs] = [momentOf(from), momentOf(to)];
  return isTime && fromMs !== undefined && toMs !== undefined ? toMs - fromMs : undefined;
}

/** A number means days between dates, else seconds. */
function stepMs(from: Value | undefined, to: Value | undefined, step: Value | undefined) {
  if (step === undefined) return undefined;
  const kind = from?.kind === "date" && to?.kind === "date" ? "date" : "time";
  return lengthOf(kind, step);
}

/** `LIMIT n [OFFSET m] BY …`, then `LIMIT n`, `LIMIT n OFFSET m`, `LIMIT m, n`, `OFFSET m`; whole numbers only. */
export function readLimits(cursor: Cursor, read: () => Piece): string[] {
  const first = readLimit(cursor);
  if (first.length === 0 || !cursor.takeWord("by")) return first;
  const by = `BY ${cursor.list(() => read().sql).join(", ")}`;
  return [...first, by, ...readLimit(cursor)];
}

function readLimit(cursor: Cursor): string[] {
  const parts: string[] = [];
  if (cursor.takeWord("limit")) {
    const first = cursor.takeCount();
    parts.push(cursor.takeMark(",") ? `LIMIT ${first}, ${cursor.takeCount()}` : `LIMIT ${first}`);
  }
  if (cursor.takeWord("offset")) parts.push(`OFFSET ${cursor.takeCount()}`);
  return parts;
}
