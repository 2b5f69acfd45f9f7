import { z } from "zod";
import { flag, optionalUrl, port } from "#kernel/setting.ts";

export const workerConfig = {
  worker: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default("127.0.0.1")
        .describe("Where Restate calls the handlers, by TLS if it is embedded"),
      port: port(9480).describe("Its port"),
      advertised_url: optionalUrl().describe(
        "The address by which Restate reaches the worker; empty: `http://host:port`",
      ),
      allow_unsigned: flag()
        .default(false)
        .describe("Accept unsigned calls of an external Restate at any `worker.host`"),
    })
    .prefault({}),
};
