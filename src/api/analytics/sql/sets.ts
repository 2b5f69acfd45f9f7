/** Reads what follows IN, in the unit of the left operand. */
import type { Cursor } from "./cursor.ts";
import { momentOf, type Piece } from "./fold.ts";
import type { ParsedQuery } from "./reading.ts";
import { asRowsAre, listInOneUnit } from "./units.ts";

type Before = { left: Piece; not: string };

/** Called after the word IN. */
export function readIn(cursor: Cursor, reading: ParsedQuery, { left, not }: Before): Piece {
  const set = reading.readSet(cursor);
  if ("rows" in set)
    return { sql: `(${asRowsAre(set.rows.unit, left).sql} ${not}IN ${set.rows.sql})` };
  if (not === "" && left.column === "time") {
    for (const { value } of set.items) reading.noteLowerBound(momentOf(value));
  }
  const [first = left, ...items] = listInOneUnit(left, set.items);
  return { sql: `(${first.sql} ${not}IN (${items.map(({ sql }) => sql).join(", ")}))` };
}
