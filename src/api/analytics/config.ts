import { z } from "zod";
import { flag, secretUrl, wholeNumber } from "#kernel/setting.ts";

export const analyticsConfig = {
  clickhouse: z
    .strictObject({
      url: secretUrl().describe(
        "The ClickHouse of analytics, with user, password and database; empty: the embedded `chdb`",
      ),
    })
    .prefault({}),
  analytics: z
    .strictObject({
      enabled: flag().default(true).describe("false: nothing is recorded, and queries answer 412"),
      retention_days: wholeNumber({ min: 1, max: 1_825, default: 30 }).describe(
        "The retention of single events; sums are kept longer",
      ),
      spool_megabytes: wholeNumber({ min: 1, max: 1_000_000, default: 1_024 }).describe(
        "What may wait on disk while the store is away",
      ),
    })
    .prefault({}),
};
