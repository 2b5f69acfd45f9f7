/** Pages: one row more than asked for is read, and tells where the next page begins. */
import type { Pagination } from "./schema.ts";

/** To read and to write more at once would keep everybody else waiting. */
export const pageBytes = 4 * 1024 * 1024;

/** `bytes`: about how much of the answer is this row's, where that can be much. */
type Row = { id: string; bytes?: number };

/**
 * Cuts `rows` (read with `limit + 1`) to a page: `limit` of them or fewer, so that it does not become
 * too large, but one. The cursor is the id of the next page's first row.
 */
export function toPage<One extends Row>(
  rows: readonly One[],
  limit: number,
): { rows: One[]; pagination: Pagination } {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += row.bytes ?? 0;
    return index === limit || (index > 0 && bytes > pageBytes);
  });
  if (end === -1) return { rows: [...rows], pagination: { hasMore: false } };
  const cursor = (rows[end] as One).id;
  return { rows: rows.slice(0, end), pagination: { hasMore: true, cursor } };
}

/** `search` as a pattern for ILIKE: a substring, in which % and _ are themselves. */
export function likePattern(search: string | undefined): string {
  return `%${(search ?? "").trim().replace(/[\\%_]/g, "\\$&")}%`;
}
