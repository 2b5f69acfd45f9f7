import { z } from "zod";
import { flag, port } from "#kernel/setting.ts";

export const metricsConfig = {
  metrics: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default("127.0.0.1")
        .describe("Where metrics and probes listen, without authentication"),
      port: port(7072).describe("Their port"),
      readyz_dependencies: flag()
        .default(false)
        .describe("`/readyz` answers 503 without Postgres or Restate"),
    })
    .prefault({}),
};
