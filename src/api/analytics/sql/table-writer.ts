/** Generates the SQL of a query's tables, restricted to the rows that the caller may read. */
import { refuse } from "./refusal.ts";
import type { Source } from "./sources.ts";
import { columnsSeen, type QueryTable, unitsOf } from "./tables.ts";

/** Each reference to a table counts, as the condition is repeated for each. */
const maxTables = 20;

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
