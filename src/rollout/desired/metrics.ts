/** The drifted sentinels of each fleet, counted in Postgres at each scrape. */
import type { Registry } from "prom-client";
import { driftCauses } from "#fleet/drift-contract.ts";
import { exposeCounted } from "#kernel/counted-gauge.ts";
import type { Database } from "#kernel/database.ts";

/** A fleet that was never compared has no values. */
export function exposeDrift(
  database: Database,
  { fleets, registry }: { fleets: readonly string[]; registry: Registry },
): void {
  exposeCounted(
    { database, registry },
    {
      name: "vedette_fleet_drifted",
      help: "Sentinels that run another image than the desired one, and that no pin holds, by why.",
      labelNames: ["fleet", "why"],
      ...{ query: countDrift, values: [fleets, driftCauses] },
    },
  );
}

const countDrift = `
  SELECT l.fleet, w.why, count(s.id)::integer AS value
  FROM fleet_lists AS l CROSS JOIN unnest($2::text[]) AS w (why)
    LEFT JOIN fleet_drift AS d ON d.fleet = l.fleet AND d.why = w.why AND is_confirmed AND NOT is_held
    LEFT JOIN sentinels AS s ON s.id = d.sentinel_id AND s.fleet = d.fleet
  WHERE l.fleet = ANY($1) AND l.compared_at IS NOT NULL GROUP BY 1, 2`;
