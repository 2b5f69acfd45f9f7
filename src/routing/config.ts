import { z } from "zod";
import { optionalText, optionalUrl, secretText, wholeNumber } from "#kernel/setting.ts";

/** The incident service, for everything that calls it. */
export const incidentConfig = {
  incident: z
    .strictObject({
      /** Empty: alert events are recorded and not posted, and routes are not synced. */
      url: optionalUrl(),
      /** Manages alert routes and sources; alert events have tokens of their own. */
      api_key: secretText(),
      /** A TOML file with ids that cannot be looked up, mainly those of chat channels. */
      ids_file: optionalText(),
      /** Interval at which routes are compared with their rows; 0: never. */
      drift_check_minutes: wholeNumber({ min: 0, max: 10_080, default: 60 }),
      /** A route may be missing in the service's lists for so long after its creation. */
      list_lag_seconds: wholeNumber({ min: 0, max: 600, default: 30 }),
    })
    .prefault({}),
};
