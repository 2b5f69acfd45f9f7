import { z } from "zod";
import { optionalUrl, port } from "#kernel/setting.ts";

export const workerConfig = {
  worker: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1"),
      port: port(9480),
      /** Where Restate reaches the worker. Empty: http://host:port. */
      advertised_url: optionalUrl(),
    })
    .prefault({}),
};
