/** Pages of a list: one row more than the limit is read, and shows where the next page begins. */
import type { Pagination } from "./resources.ts";

/** Most bytes of a page: more at once would delay all other requests. */
export const pageBytes = 4 * 1024 * 1024;

/** `bytes`: about how large this row is in the answer; absent: small. */
type Row = { id: string; bytes?: number };

/**
 * Cuts `rows` (read with `limit + 1`) to a page of at most `limit` rows: fewer, but at least one, when they
 * would exceed `pageBytes`. The cursor is the id of the next page's first row.
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

/** `search` as a pattern for ILIKE: a substring, in which % and _ are literal. */
export function likePattern(search: string | undefined): string {
  return `%${(search ?? "").trim().replace(/[\\%_]/g, "\\$&")}%`;
}
