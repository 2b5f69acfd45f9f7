import { z } from "zod";
import { flag, secretUrl, wholeNumber } from "#kernel/setting.ts";

export const analyticsConfig = {
  clickhouse: z
    .strictObject({
      /** An address with user, password and database as needed; empty: the embedded engine. */
      url: secretUrl(),
    })
    .prefault({}),
  analytics: z
    .strictObject({
      /** false: nothing is recorded, and queries answer 412. */
      enabled: flag().default(true),
      /** The retention of single events; rollups are retained longer. */
      retention_days: wholeNumber({ min: 1, max: 1_825, default: 30 }),
      /** The maximum size of the spool, which holds events while the store is away. */
      spool_megabytes: wholeNumber({ min: 1, max: 1_000_000, default: 1_024 }),
    })
    .prefault({}),
};
