/** Reads and writes what the list of sentinels is refined by, as the address and the request have it. Pure. */
import { count } from "#console/web/format.ts";
import type { FleetSearch } from "#fleet/overview/contract.ts";

/** The filters in the order of their fields. */
export const filters = ["region", "image", "state", "health"] as const;
export type Filter = (typeof filters)[number];

export const pageSize = 50;

type Refinement = Partial<FleetSearch>;

/** The search of an address's query. Other names and impossible pages are left out: an address may come from anywhere. */
export function searchOf(query: Readonly<URLSearchParams>): Refinement & { page: number } {
  const asked: Record<string, string> = {};
  for (const name of ["search", ...filters]) {
    const value = query.get(name) ?? "";
    if (value !== "") asked[name] = value;
  }
  const page = Number(query.get("page") ?? "1");
  const isPage = Number.isInteger(page) && page >= 1 && page <= 100_000;
  return { ...(asked as Refinement), page: isPage ? page : 1 };
}

/** A change of a filter begins at the first page again. */
export function refine(name: Filter | "search", value: string): Record<string, string | undefined> {
  return { [name]: value === "" ? undefined : value, page: undefined };
}

export const noFilters: Record<string, undefined> = Object.fromEntries(
  ["search", ...filters, "page"].map((name) => [name, undefined]),
);

export function isRefined({ page: _, ...asked }: Refinement): boolean {
  return Object.keys(asked).length > 0;
}

/** "51–100 of 312". */
export function placeOf(page: number, shown: number, found: number): string {
  if (shown === 0) return `none of ${count(found)}`;
  const first = (page - 1) * pageSize + 1;
  return `${count(first)}–${count(first + shown - 1)} of ${count(found)}`;
}

/** The address of the page of a sentinel, whose id may have slashes. */
export function pathOfSentinel(id: string): string {
  return `/fleet/${encodeURIComponent(id)}`;
}

/** The id in such an address; a proxy may have decoded it already. */
export function sentinelOf(path: string): string {
  const text = path.slice("/fleet/".length);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
