import { z } from "zod";
import { secret, urlSetting } from "#kernel/setting.ts";

export const ratelimitConfig = {
  redis: z
    .strictObject({
      /** The Redis over which several `api` processes share their limits; empty: each has its own. */
      url: secret(
        urlSetting({
          schemes: ["redis", "rediss"],
          example: "redis://user:password@redis.example.com:6379",
        }),
      ),
    })
    .prefault({}),
};
