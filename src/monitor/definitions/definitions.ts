import type { Definitions } from "#monitor/contract.ts";
import { channels } from "./channels.ts";
import { type ApiCheckRow, apiCheckRows, type LocationSet } from "./checks.ts";
import { heartbeats } from "./heartbeats.ts";
import { hostedLocations } from "./locations.ts";

/** All rows, with the locations from the settings filled in. */
export function defineMonitor(settings: { rate_limit_locations: readonly string[] }): Definitions {
  const sets: Record<LocationSet, readonly string[]> = {
    all: hostedLocations,
    rate_limit: settings.rate_limit_locations,
  };
  const withLocations = (row: ApiCheckRow) => ({ ...row, locations: [...sets[row.locations]] });
  return { apiChecks: apiCheckRows.map(withLocations), heartbeats, channels };
}
