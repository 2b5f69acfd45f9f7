/** A metric whose values are counted in Postgres at each scrape, so that every process has the same ones. */
import { Gauge, type Registry } from "prom-client";
import { inTime } from "./async.ts";
import type { Database } from "./database.ts";

/** A scrape waits for all metrics: a database that hangs must not cost it the others. */
const countWithinMs = 2_000;

/** `query`: its rows have the number as `value`, and the labels. */
type CountedGauge = {
  name: string;
  help: string;
  labelNames: readonly string[];
  query: string;
  values?: readonly unknown[];
};

type Row = { value: number } & Record<string, string | number>;

/** There is no value of what the query has no row of, and none at all while the database is away. */
export function exposeCounted(
  { database, registry }: { database: Database; registry: Registry },
  { query, values = [], ...gauge }: CountedGauge,
): void {
  const count = async () => (await database.query<Row>(query, [...values])).rows;
  new Gauge({
    ...gauge,
    registers: [registry],
    async collect() {
      const rows = await inTime(count, { limitMs: countWithinMs, otherwise: [] });
      this.reset();
      for (const { value, ...labels } of rows) this.set(labels, value);
    },
  });
}
