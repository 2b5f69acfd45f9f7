import { z } from "zod";
import { secret, urlSetting } from "#kernel/setting.ts";

export const ratelimitConfig = {
  redis: z
    .strictObject({
      url: secret(
        urlSetting({
          schemes: ["redis", "rediss"],
          example: "redis://user:password@redis.example.com:6379",
        }),
      ).describe("The Redis over which `api` processes share rate limits; empty: each has its own"),
    })
    .prefault({}),
};
