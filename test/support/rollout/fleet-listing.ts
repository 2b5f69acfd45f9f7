/** The list of a driver's fleet, written to a database, for what is not about lists. */
import { Registry } from "prom-client";
import type { Driver } from "#fleet/drivers/driver.ts";
import { createListMetrics, createListStore } from "#fleet/list-store.ts";
import { createFleetListing } from "#fleet/listing.ts";
import type { Database } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";

/** `maxMissingPercent`: 100 takes every list. */
export function createTestListing(
  database: Database,
  driver: Pick<Driver, "list">,
  {
    maxMissingPercent = 100,
    registry = new Registry(),
    fleet = "singleton",
    keepsLogs = true,
  } = {},
) {
  const log = createLog({ level: "silent", format: "json" });
  const store = createListStore(database, { fleet, maxMissingPercent, keepsLogs });
  return createFleetListing({ driver, store, metrics: createListMetrics(registry)(fleet), log });
}
