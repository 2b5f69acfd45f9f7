/** Schemas of the namespace `keys` that several procedures use. */
import { z } from "zod";
import { list } from "#api/schemas/list.ts";
import {
  ExternalId,
  IdentityResponse,
  int64Max,
  Meta,
  PermissionSlug,
  RatelimitRequest,
  RatelimitResponse,
  RoleName,
  text,
  whole,
} from "#api/schemas/schema.ts";

export const Refill = z.strictObject({
  interval: z.enum(["daily", "monthly"]),
  amount: whole({ min: 1, max: int64Max }),
  refillDay: whole({ min: 1, max: 31 }).optional(),
});
export type Refill = z.infer<typeof Refill>;

const Credits = z.strictObject({
  remaining: whole({ min: 0, max: int64Max }).nullable(),
  refill: Refill.optional(),
});

/** 2100-01-01: a later time is a mistake in its unit. */
const lastExpiryMs = 4_102_444_800_000;
export const Expires = whole({ min: 0, max: lastExpiryMs });

export const KeyName = text({ min: 1, max: 255 });
export const RoleNames = list(RoleName, { max: 100 });
export const PermissionSlugs = list(PermissionSlug, { max: 1_000 });
export const Ratelimits = list(RatelimitRequest, { max: 50 });

/** The attributes of a new key, created here or migrated. */
export const newKeyFields = {
  name: KeyName.optional(),
  meta: Meta.optional(),
  roles: RoleNames.optional(),
  permissions: PermissionSlugs.optional(),
  expires: Expires.optional(),
  credits: Credits.optional(),
  ratelimits: Ratelimits.optional(),
  enabled: z.boolean().default(true),
};

export const NewKey = z.strictObject({ ...newKeyFields, externalId: ExternalId.optional() });
export type NewKey = z.infer<typeof NewKey>;

export const NewKeyOutput = z.object({ keyId: z.string(), key: z.string() });

export const CreditsResponse = z.object({
  remaining: whole().nullable(),
  refill: z
    .object({
      interval: z.enum(["daily", "monthly"]),
      amount: whole(),
      refillDay: whole().optional(),
    })
    .optional(),
});
export type CreditsResponse = z.infer<typeof CreditsResponse>;

export const KeyResponse = z.object({
  keyId: z.string(),
  start: z.string(),
  enabled: z.boolean(),
  name: z.string().optional(),
  meta: Meta.optional(),
  createdAt: whole(),
  updatedAt: whole().optional(),
  lastUsedAt: whole().optional(),
  expires: whole().optional(),
  permissions: z.array(z.string()).optional(),
  roles: z.array(z.string()).optional(),
  credits: CreditsResponse.optional(),
  identity: IdentityResponse.optional(),
  plaintext: z.string().optional(),
  ratelimits: z.array(RatelimitResponse).optional(),
});
export type KeyResponse = z.infer<typeof KeyResponse>;
