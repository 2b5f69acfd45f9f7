import { z } from "zod";
import { secret } from "#kernel/setting.ts";

export const ratelimitConfig = {
  redis: z
    .strictObject({
      /** The Redis over which several `api` processes share their limits; empty: each has its own. */
      url: secret(
        z
          .union([z.literal(""), z.url({ protocol: /^rediss?$/ })], {
            error: "must be an address that begins with redis:// or rediss://, or empty",
          })
          .default(""),
      ),
    })
    .prefault({}),
};
