/** The drifted sentinels of each fleet, counted in Postgres at each scrape. */
import { Gauge, type Registry } from "prom-client";
import { driftCauses } from "#fleet/drift-contract.ts";
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";

/** A scrape waits for all metrics: a database that hangs must not cost it the others. */
const readTimeoutMs = 2_000;

type Count = { fleet: string; why: string; sentinels: number };

/** Every worker has the same values. A fleet that was never compared has none, and none has while the database is away. */
export function exposeDrift(
  database: Database,
  { fleets, registry }: { fleets: readonly string[]; registry: Registry },
): void {
  const read = async (): Promise<Count[]> =>
    (await database.query<Count>(countDrift, [fleets, driftCauses])).rows;
  new Gauge({
    name: "vedette_fleet_drifted",
    help: "Sentinels that run another image than the desired one, and that no pin holds, by why.",
    labelNames: ["fleet", "why"],
    registers: [registry],
    async collect() {
      const counts = await inTime(read, { limitMs: readTimeoutMs, otherwise: [] });
      this.reset();
      for (const { sentinels, ...labels } of counts) this.set(labels, sentinels);
    },
  });
}

const countDrift = `
  SELECT l.fleet, w.why, count(s.id)::integer AS sentinels
  FROM fleet_lists AS l CROSS JOIN unnest($2::text[]) AS w (why)
    LEFT JOIN fleet_drift AS d ON d.fleet = l.fleet AND d.why = w.why AND is_confirmed AND NOT is_held
    LEFT JOIN sentinels AS s ON s.id = d.sentinel_id AND s.fleet = d.fleet
  WHERE l.fleet = ANY($1) AND l.compared_at IS NOT NULL GROUP BY 1, 2`;
