/** Schemas of the procedures on overrides. */
import { z } from "zod";
import { ApiError } from "#api/error.ts";
import { text, whole } from "#api/schemas/schema.ts";
import type { Override } from "./overrides.ts";

export const overrideTarget = {
  namespace: text({ min: 1, max: 512 }).describe(
    "The name of the namespace or its id, `rlns_…`. It must exist.",
  ),
  identifier: text({ min: 1, max: 512 }).describe(
    "Whose limit it is; in an override `*` stands for any characters.",
  ),
};

export const OverrideOutput = z.object({
  overrideId: z.string().describe("The id of the override, `rlor_…`."),
  identifier: z.string().describe("The identifier or pattern that it is for."),
  limit: whole().describe("How much may be counted in one window; 0: nothing."),
  duration: whole().describe("Length of a window in milliseconds."),
});

export const exampleOverride = {
  overrideId: "rlor_c6RyNf2Vd9HmKt4E",
  identifier: "user_4*",
  limit: 50,
  duration: 60_000,
};

export function describeOverride({ id, identifier, limit, durationMs }: Override) {
  return { overrideId: id, identifier, limit, duration: durationMs };
}

export function overrideNotFound(): ApiError {
  return new ApiError(
    "unkey/data/ratelimit_override_not_found",
    "The requested override does not exist.",
  );
}
