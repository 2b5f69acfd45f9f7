import { z } from "zod";
import { list } from "#api/schemas/list.ts";
import { IdentityResponse, Meta, text, whole } from "#api/schemas/schema.ts";

export const VerifyInput = z.strictObject({
  key: text({ min: 1, max: 512 }),
  tags: list(text({ min: 1, max: 512 }), { max: 20 }).optional(),
  permissions: text({ min: 1, max: 1_000 }).optional(),
  credits: z.strictObject({ cost: whole({ min: 0, max: 1_000_000_000_000 }) }).optional(),
  ratelimits: list(
    z.strictObject({
      name: text({ min: 3, max: 255 }),
      cost: whole({ min: 0 }).default(1),
      limit: whole({ min: 0 }).optional(),
      duration: whole({ min: 0 }).optional(),
    }),
  ).optional(),
  migrationId: text({ max: 256 }).optional(),
});
export type VerifyInput = z.infer<typeof VerifyInput>;

const verifyCodes = [
  "VALID",
  "NOT_FOUND",
  "FORBIDDEN",
  "INSUFFICIENT_PERMISSIONS",
  "USAGE_EXCEEDED",
  "RATE_LIMITED",
  "DISABLED",
  "EXPIRED",
] as const;
export type VerifyCode = (typeof verifyCodes)[number];

const VerifyRatelimit = z.object({
  exceeded: z.boolean(),
  /** Empty for a limit that was defined by the request. */
  id: z.string(),
  name: z.string(),
  limit: whole(),
  duration: whole(),
  /** Unix milliseconds. */
  reset: whole(),
  remaining: whole(),
  autoApply: z.boolean(),
});
export type VerifyRatelimit = z.infer<typeof VerifyRatelimit>;

export const VerifyOutput = z.object({
  valid: z.boolean(),
  code: z.enum(verifyCodes),
  keyId: z.string().optional(),
  name: z.string().optional(),
  meta: Meta.optional(),
  expires: whole().optional(),
  credits: whole().optional(),
  enabled: z.boolean().optional(),
  permissions: z.array(z.string()).optional(),
  roles: z.array(z.string()).optional(),
  identity: IdentityResponse.optional(),
  ratelimits: z.array(VerifyRatelimit).optional(),
});
export type VerifyOutput = z.infer<typeof VerifyOutput>;
