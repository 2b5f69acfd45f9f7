/** What the procedures on overrides take and return. */
import { z } from "zod";
import { ApiError } from "#api/error.ts";
import { text, whole } from "#api/schemas/schema.ts";
import type { Override } from "./overrides.ts";

export const overrideTarget = {
  namespace: text({ min: 1, max: 512 }),
  identifier: text({ min: 1, max: 512 }),
};

export const OverrideOutput = z.object({
  overrideId: z.string(),
  identifier: z.string(),
  limit: whole(),
  duration: whole(),
});

export function describeOverride({ id, identifier, limit, durationMs }: Override) {
  return { overrideId: id, identifier, limit, duration: durationMs };
}

export function overrideNotFound(): ApiError {
  return new ApiError(
    "unkey/data/ratelimit_override_not_found",
    "The requested override does not exist.",
  );
}
