import { type Retention, rollups } from "#api/analytics/retention.ts";
import { refuse } from "./cursor.ts";
import type { Source } from "./sources.ts";
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

function unitsOf(table: QueryTable): Units {
  if (table.kept === "raw") return rawUnits;
  return hasDays(table) ? dailyUnits : summedUnits;
}

function hasDays({ kept }: QueryTable): boolean {
  return kept === "day" || kept === "month";
}

/** Its columns as a query sees them: the time of a day or month is a Date. */
function columnsSeen(table: QueryTable): string {
  return hasDays(table) ? "* REPLACE (toDate(time) AS time)" : "*";
}

/** All columns of a rollup, with states finalized to numbers. */
export const readableColumns = `* REPLACE (${[
  "finalizeAggregation(latency_avg) AS latency_avg",
  "arrayElement(finalizeAggregation(latency_p75), 1) AS latency_p75",
  "arrayElement(finalizeAggregation(latency_p99), 1) AS latency_p99",
].join(", ")})`;

const prefixes = { verifications: "key_verifications", ratelimits: "ratelimits" } as const;

export function tablesOf(family: QueryFamily): ReadonlyMap<string, QueryTable> {
  const prefix = prefixes[family];
  const summed = rollups.map((kept) => ({ name: `${prefix}_per_${kept}_v1`, kept }));
  const tables: QueryTable[] = [{ name: `${prefix}_v1`, kept: "raw" }, ...summed];
  return new Map(tables.map((table) => [table.name, table]));
}

/** Each reference to a table counts, as the condition is repeated for each. */
const maxTables = 20;

/** Generates the SQL of a query's tables, restricted to the rows that the caller may read. */
export type TableSettings = {
  /** The tables' database in the store. */
  database: string;
  tables: ReadonlyMap<string, QueryTable>;
  /** SQL condition on their visible rows. */
  condition: string;
};

export class TableWriter {
  readonly used = new Set<QueryTable>();
  readonly #settings: TableSettings;
  #references = 0;

  constructor(settings: TableSettings) {
    this.#settings = settings;
  }

  has(name: string): boolean {
    return this.#settings.tables.has(name);
  }

  get(name: string): QueryTable | undefined {
    return this.#settings.tables.get(name);
  }

  /** A subquery, so that the condition has its own scope, which no alias affects. */
  write(name: string): Source {
    const { database, condition } = this.#settings;
    const table = this.get(name);
    if (table === undefined) throw this.#unknown(name);
    this.#references += 1;
    if (this.#references > maxTables) {
      throw refuse("syntax", `The query names tables more than ${maxTables} times.`);
    }
    this.used.add(table);
    const from = `${database}.${table.name}`;
    // Not by WHERE, which the store may combine with the query's own conditions and evaluate after them: a
    // condition that fails on another workspace's row would reveal that row.
    const sql = `(SELECT ${columnsSeen(table)} FROM ${from} PREWHERE ${condition})`;
    return { sql, units: unitsOf(table) };
  }

  #unknown(name: string) {
    const known = [...this.#settings.tables.keys()].join(", ");
    return refuse("table", `There is no table ${name} to read; there are ${known}.`);
  }
}
