import { z } from "zod";
import { optionalText, optionalUrl, secretText, wholeNumber } from "#kernel/setting.ts";

/** The incident service, for everything that calls it. */
export const incidentConfig = {
  incident: z
    .strictObject({
      url: optionalUrl().describe(
        "The incident service; empty: events are recorded, routes not synced",
      ),
      api_key: secretText().describe("Its API key for routes and sources"),
      ids_file: optionalText().describe("A TOML file of ids that cannot be looked up"),
      drift_check_minutes: wholeNumber({ min: 0, max: 10_080, default: 60 }).describe(
        "How often routes are compared; 0: never",
      ),
      list_lag_seconds: wholeNumber({ min: 0, max: 600, default: 30 }).describe(
        "How long the service's lists may lack a new route",
      ),
    })
    .prefault({}),
};
