import { z } from "zod";
import { optionalText, optionalUrl } from "#kernel/setting.ts";

/** The incident service, as everything that talks to it shares it. */
export const incidentConfig = {
  incident: z
    .strictObject({
      /** Empty: alert events are recorded and not posted, and routes are not synced. */
      url: optionalUrl(),
      /** Manages alert routes and sources; alert events have tokens of their own. */
      api_key: optionalText(),
    })
    .prefault({}),
};
