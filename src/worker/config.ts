import { z } from "zod";
import { flag, optionalUrl, port } from "#kernel/setting.ts";

export const workerConfig = {
  worker: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1"),
      port: port(9480),
      /** The address at which Restate reaches the worker. Empty: http://host:port. */
      advertised_url: optionalUrl(),
      /** True to accept unsigned calls of an external Restate at an address that is not loopback. */
      allow_unsigned: flag().default(false),
    })
    .prefault({}),
};
