/** What queries may read, by the names that callers use. */
import { type Retention, rollups } from "#api/analytics/retention.ts";

export const queryFamilies = ["verifications", "ratelimits"] as const;
export type QueryFamily = (typeof queryFamilies)[number];

/** A table that a query may name: which rows are kept for how long. */
export type QueryTable = { name: string; kept: keyof Retention };

const prefixes = { verifications: "key_verifications", ratelimits: "ratelimits" } as const;

/** The tables of one procedure. */
export function tablesOf(family: QueryFamily): ReadonlyMap<string, QueryTable> {
  const prefix = prefixes[family];
  const summed = rollups.map((kept) => ({ name: `${prefix}_per_${kept}_v1`, kept }));
  const tables: QueryTable[] = [{ name: `${prefix}_v1`, kept: "raw" }, ...summed];
  return new Map(tables.map((table) => [table.name, table]));
}
