import { z } from "zod";
import {
  networkList,
  optionalText,
  optionalUrl,
  port,
  wholeNumber,
  wholeNumberIn,
} from "#kernel/setting.ts";

export const fleetConfig = {
  fleet: z
    .strictObject({
      driver: z.enum(["process", "http"]).default("process"),
      /** How long a sentinel may take to become ready before its deploy fails. */
      deploy_timeout_seconds: wholeNumber({ min: 1, max: 86_400, default: 600 }),
      /** The interval at which the fleet is listed in the background. */
      list_every_seconds: wholeNumber({ min: 1, max: 86_400, default: 60 }),
      /**
       * A list that lacks more than this percentage of the known sentinels is refused until it is
       * confirmed; 100 accepts every list. Absent: 100 with the `process` driver, whose list is our
       * own, else 49.
       */
      list_max_missing_percent: wholeNumberIn({ min: 0, max: 100 }).optional(),
      process: z
        .strictObject({
          size: wholeNumber({ min: 0, max: 500, default: 12 }),
          /** The address to which the local sentinels forward. Empty: our own public API. */
          upstream_url: optionalUrl(),
          /** Addresses (CIDR) of proxies in front of the sentinels, whose X-Forwarded-For is believed. */
          trusted_proxies: networkList(),
          /** The first sentinel's port, the next one's is one higher; 0 takes free ones. */
          base_port: port(0),
        })
        .prefault({}),
      http: z.strictObject({ url: optionalUrl(), token: optionalText() }).prefault({}),
    })
    .refine((fleet) => fleet.driver !== "http" || fleet.http.url !== "", {
      error: 'fleet.driver "http" needs fleet.http.url',
    })
    .prefault({}),
};

export type FleetConfig = z.infer<typeof fleetConfig.fleet>;
