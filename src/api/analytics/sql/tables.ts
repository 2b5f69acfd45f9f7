/** The tables that queries may read, by name. */
import { type Retention, rollups } from "#api/analytics/retention.ts";
import type { Units } from "./units.ts";

export const queryFamilies = ["verifications", "ratelimits"] as const;
export type QueryFamily = (typeof queryFamilies)[number];

/** A table that a query may read; `kept` selects its retention. */
export type QueryTable = { name: string; kept: keyof Retention };

const rawUnits: Units = new Map([
  ["time", "ms"],
  ["reset_at", "ms"],
]);
const states = [
  ["latency_avg", "state"],
  ["latency_p75", "state"],
  ["latency_p99", "state"],
] as const;
const summedUnits: Units = new Map([["time", "moment"], ...states]);
const dailyUnits: Units = new Map([["time", "day"], ...states]);

/** The units of a table's columns. */
export function unitsOf(table: QueryTable): Units {
  if (table.kept === "raw") return rawUnits;
  return hasDays(table) ? dailyUnits : summedUnits;
}

function hasDays({ kept }: QueryTable): boolean {
  return kept === "day" || kept === "month";
}

/** Its columns as a query sees them: the time of a day or month is a Date. */
export function columnsSeen(table: QueryTable): string {
  return hasDays(table) ? "* REPLACE (toDate(time) AS time)" : "*";
}

/** All columns of a rollup, with states finalized to numbers. */
export const readableColumns = `* REPLACE (${[
  "finalizeAggregation(latency_avg) AS latency_avg",
  "arrayElement(finalizeAggregation(latency_p75), 1) AS latency_p75",
  "arrayElement(finalizeAggregation(latency_p99), 1) AS latency_p99",
].join(", ")})`;

const prefixes = { verifications: "key_verifications", ratelimits: "ratelimits" } as const;

/** The tables of one procedure. */
export function tablesOf(family: QueryFamily): ReadonlyMap<string, QueryTable> {
  const prefix = prefixes[family];
  const summed = rollups.map((kept) => ({ name: `${prefix}_per_${kept}_v1`, kept }));
  const tables: QueryTable[] = [{ name: `${prefix}_v1`, kept: "raw" }, ...summed];
  return new Map(tables.map((table) => [table.name, table]));
}
