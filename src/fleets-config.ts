/** The settings `[fleets]`: fleets besides the default one. What one leaves out is as for all. */
import { z } from "zod";
import { fleetFields, hasAddress } from "#fleet/config.ts";
import { defaultFleet, FleetName } from "#fleet/contract.ts";
import { overrides, secretUrl } from "#kernel/setting.ts";
import { registryConfig } from "#registry/config.ts";
import { rolloutConfig } from "#rollout/config.ts";

const FleetTable = z
  .strictObject({
    ...fleetFields,
    // Without a default: a variable that is left over, or misspelt, must not make a fleet of local processes.
    driver: fleetFields.driver.removeDefault(),
    /** Besides this table's own settings, those of `[rollout]` and `[registry]` that differ here. */
    rollout: overrides(rolloutConfig.rollout),
    registry: overrides(registryConfig.registry),
    slack: z
      .strictObject({
        /** Receives this fleet's rollout messages; the URL is a secret. Empty: where the others' go. */
        sentinel_rollout_webhook_url: secretUrl(),
      })
      .prefault({}),
  })
  .refine(hasAddress, { error: 'driver "http" needs http.url' });

export const fleetsConfig = {
  fleets: z
    .record(FleetName, FleetTable)
    .refine((fleets) => !(defaultFleet in fleets), {
      error: `"${defaultFleet}" is the default fleet: its settings are [fleet]`,
    })
    .default({})
    .describe(
      "Further fleets by name: the keys of `fleet`, and those of `rollout`, `registry` and `slack` that differ",
    ),
};
