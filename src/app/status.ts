/** Wires the status that the person on call reads. */
import { createEventStore } from "#alerts/store.ts";
import type { Config } from "#config.ts";
import { createFleetOverview } from "#fleet/overview/reader.ts";
import type { Database } from "#kernel/database.ts";
import { rolloutObject } from "#rollout/internal.ts";
import { createStatusReads } from "#status/service.ts";
import { fleetsOf } from "./fleets.ts";
import type { Results } from "./results.ts";

type StatusParts = { config: Config; database: Database; results: Results };

export function createStatus({ config, database, results }: StatusParts) {
  return createStatusReads({
    fleets: fleetsOf(config).map(({ name }) => name),
    readRollout: (ctx, fleet) => ctx.client(rolloutObject, fleet).Status({}),
    readFleet: createFleetOverview(database),
    readChecks: results.viewChecks,
    listEvents: createEventStore(database, { keepDays: config.alerts.keep_days }).list,
    nowMs: Date.now,
  });
}
