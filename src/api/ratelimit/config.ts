import { z } from "zod";

export const ratelimitConfig = {
  redis: z
    .strictObject({
      /** Where several `api` processes share their limits; empty: each has its own. */
      url: z.union([z.literal(""), z.url({ protocol: /^rediss?$/ })]).default(""),
    })
    .prefault({}),
};
