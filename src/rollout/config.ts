import { z } from "zod";
import { flag, wholeNumber } from "#kernel/setting.ts";

export const rolloutConfig = {
  rollout: z
    .strictObject({
      /** Deploys in flight over the whole fleet. */
      max_parallel: wholeNumber({ min: 1, max: 500, default: 100 }),
      /** Absent: false with the `process` driver, whose images are in no registry, else true. */
      require_image_in_registry: flag().optional(),
    })
    .prefault({}),
};
