import { z } from "zod";
import { secretUrl } from "#kernel/setting.ts";

/** `heartbeat_url` is requested once after each successful run; it is a secret. Empty: none. */
const job = () =>
  z
    .strictObject({
      heartbeat_url: secretUrl().describe("A URL requested after each good run"),
    })
    .prefault({});

export const cronConfig = {
  cron: z
    .strictObject({
      key_refill: job(),
      count_keys: job(),
      quota_check: job(),
      key_last_used_sync: job(),
      certificate_renewal: job(),
      alertmanager_drift: job(),
      alert_routes_drift: job(),
      fleet_drift: job(),
    })
    .prefault({}),
};
