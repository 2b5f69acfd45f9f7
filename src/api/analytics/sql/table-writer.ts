/** Writes the tables of a query, so that their rows may be read alone that may be seen. */
import { refuse } from "./refusal.ts";
import type { Source } from "./sources.ts";
import { columnsSeen, type QueryTable, unitsOf } from "./tables.ts";

/** Each time that a table is named counts: the condition is written each time. */
const maxTables = 20;

export type TableSettings = {
  /** Where the tables are in the store. */
  database: string;
  tables: ReadonlyMap<string, QueryTable>;
  /** Which rows of each of them may be seen, as SQL. */
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

  /** Its conditions have a scope of their own, which no alias reaches. */
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
    // Not by WHERE, which the store joins with the query's own conditions and may compute after them:
    // one that fails on a row that is not to be seen would tell of it.
    const sql = `(SELECT ${columnsSeen(table)} FROM ${from} PREWHERE ${condition})`;
    return { sql, units: unitsOf(table) };
  }

  #unknown(name: string) {
    const known = [...this.#settings.tables.keys()].join(", ");
    return refuse("table", `There is no table ${name} to read; there are ${known}.`);
  }
}
