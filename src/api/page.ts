/** Pages: one row more than asked for is read, and tells where the next page begins. */
import type { Pagination } from "./schema.ts";

/** Cuts `rows` (read with `limit + 1`) to a page. The cursor is the id of the next page's first row. */
export function toPage<Row extends { id: string }>(
  rows: readonly Row[],
  limit: number,
): { rows: Row[]; pagination: Pagination } {
  const next = rows[limit];
  return {
    rows: rows.slice(0, limit),
    pagination: next === undefined ? { hasMore: false } : { hasMore: true, cursor: next.id },
  };
}

/** `search` as a pattern for ILIKE: a substring, in which % and _ are themselves. */
export function likePattern(search: string | undefined): string {
  return `%${(search ?? "").trim().replace(/[\\%_]/g, "\\$&")}%`;
}
