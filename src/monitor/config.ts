import { z } from "zod";
import { flag, optionalText, optionalUrl, textList, wholeNumber } from "#kernel/setting.ts";
import { rateLimitLocations } from "./definitions/locations.ts";

export const monitorConfig = {
  monitor: z
    .strictObject({
      /** Of the API that is watched; empty: this program's own. */
      base_url: optionalUrl(),
      /** Before the token in ping URLs, when a proxy stands before control; empty: control's address. */
      ping_url: optionalUrl(),
      /** The name of the place where this process stands. */
      location: z.string().trim().min(1).default("local"),
      /** `{{KEY}}` and `{{ROOT_KEY}}` in the requests of checks. */
      key: optionalText(),
      root_key: optionalText(),
      /** Where the seven runs of the rate-limit check stand at the hosted monitor. */
      rate_limit_locations: textList().default([...rateLimitLocations]),
      /** A run fails when this many percent of the locations that reported failed; 0: when any did. */
      failed_at_percent: wholeNumber({ min: 0, max: 100, default: 0 }),
      /** The prefix of the secrets' names at the hosted monitor: `<PREFIX>_KEY`, `<PREFIX>_ROOT_KEY`. */
      secret_prefix: z
        .string()
        .regex(/^[A-Z][A-Z0-9_]*$/)
        .default("VEDETTE"),
      /** Whether `/status.json` and the badges are served to anyone who asks. */
      public_status: flag().default(true),
      /** How long single results and minutes of them are kept. */
      result_days: wholeNumber({ min: 1, max: 400, default: 30 }),
      /** How long hours of them, and alerts that are over, are kept. */
      hour_days: wholeNumber({ min: 1, max: 4_000, default: 400 }),
    })
    .prefault({}),
};
