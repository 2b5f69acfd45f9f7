import { z } from "zod";
import { flag, port } from "#kernel/setting.ts";

export const metricsConfig = {
  metrics: z
    .strictObject({
      /** Loopback by default, because there is no authentication. */
      host: z.string().min(1).default("127.0.0.1"),
      port: port(7072),
      /** If true, `/readyz` answers 503 while Postgres or Restate does not answer. */
      readyz_dependencies: flag().default(false),
    })
    .prefault({}),
};
