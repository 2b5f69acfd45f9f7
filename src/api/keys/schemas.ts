/** Schemas of the namespace `keys` that several procedures use. */
import { z } from "zod";
import { list } from "#api/schemas/list.ts";
import {
  ExternalId,
  exampleIdentity,
  exampleLimit,
  examplePermission,
  exampleRole,
  IdentityResponse,
  PermissionSlug,
  RatelimitRequest,
  RatelimitResponse,
  RoleName,
} from "#api/schemas/resources.ts";
import { int64Max, Meta, text, whole } from "#api/schemas/schema.ts";

export const Refill = z.strictObject({
  interval: z.enum(["daily", "monthly"]).describe("How often the credits are refilled, in UTC."),
  amount: whole({ min: 1, max: int64Max }).describe(
    "How many credits the key has after a refill, unless it has more already.",
  ),
  refillDay: whole({ min: 1, max: 31 })
    .describe(
      "Day of the month, 1 to 31; in a shorter month its last day. Required for `monthly`, refused for `daily`.",
    )
    .optional(),
});
export type Refill = z.infer<typeof Refill>;

const Credits = z.strictObject({
  remaining: whole({ min: 0, max: int64Max })
    .nullable()
    .describe("How many credits the key has now; null: no limit, which allows no `refill`."),
  refill: Refill.describe(
    "Sets the credits to an amount again and again; absent: once spent they are gone.",
  ).optional(),
});

/** 2100-01-01: a later time is a mistake in its unit. */
const lastExpiryMs = 4_102_444_800_000;
export const Expires = whole({ min: 0, max: lastExpiryMs }).describe(
  "When the key expires, unix time in milliseconds, at most the year 2100; absent: never.",
);

export const KeyName = text({ min: 1, max: 255 }).describe(
  "A name by which people recognize the key. Names need not be unique.",
);
export const RoleNames = list(RoleName, { max: 100 }).describe(
  "Names of the roles that the key has, at most 100. They must exist.",
);
export const PermissionSlugs = list(PermissionSlug, { max: 1_000 }).describe(
  "Slugs of the permissions that the key has itself, at most 1000. Unknown ones are created.",
);
export const Ratelimits = list(RatelimitRequest, { max: 50 }).describe(
  "Rate limits of the key, at most 50, each with a name of its own.",
);

export const Decrypt = z
  .boolean()
  .default(false)
  .describe(
    "Whether the answer has the keys themselves, of those that are recoverable. The root key needs the permission `decrypt_key`.",
  );

/** Describes the `externalId` of a new key on the reference page. */
export const keyOwner =
  "Your own id of the user or tenant that the key belongs to; an identity is created for an unknown one. Absent: none.";

/** The attributes of a new key, created here or migrated. */
export const newKeyFields = {
  name: KeyName.optional(),
  meta: Meta.optional(),
  roles: RoleNames.optional(),
  permissions: PermissionSlugs.optional(),
  expires: Expires.optional(),
  credits: Credits.describe(
    "How many verifications the key is good for; absent: no limit.",
  ).optional(),
  ratelimits: Ratelimits.optional(),
  enabled: z
    .boolean()
    .default(true)
    .describe("Whether the key is valid; false: verifications answer `DISABLED`."),
};

export const NewKey = z.strictObject({
  ...newKeyFields,
  externalId: ExternalId.describe(keyOwner).optional(),
});
export type NewKey = z.infer<typeof NewKey>;

export const NewKeyOutput = z.object({
  keyId: z.string().describe("The id of the new key, by which the other procedures take it."),
  key: z.string().describe("The key itself. Give it to your user now: only its hash is stored."),
});

export const CreditsResponse = z
  .object({
    remaining: whole().nullable().describe("How many credits are left; null: no limit."),
    refill: z
      .object({
        interval: z
          .enum(["daily", "monthly"])
          .describe("How often the credits are refilled, in UTC."),
        amount: whole().describe(
          "How many credits the key has after a refill, unless it has more already.",
        ),
        refillDay: whole()
          .describe("The day of the month of a monthly refill, 1 to 31; absent for a daily one.")
          .optional(),
      })
      .describe("When the credits are set to an amount again; absent: never.")
      .optional(),
  })
  .describe("What the key may still spend.");
export type CreditsResponse = z.infer<typeof CreditsResponse>;

export const KeyResponse = z.object({
  keyId: z.string().describe("The id of the key, `key_…`."),
  start: z
    .string()
    .describe(
      "The prefix and the first four characters, by which people recognize the key; empty for a migrated key until its first use.",
    ),
  enabled: z.boolean().describe("Whether it is enabled; it may still have expired."),
  name: z.string().describe("Its name; absent when it has none.").optional(),
  meta: Meta.describe("Its metadata; absent when it has none.").optional(),
  createdAt: whole().describe("When it was created, unix time in milliseconds."),
  updatedAt: whole()
    .describe("When it was last changed, unix time in milliseconds; absent: never.")
    .optional(),
  lastUsedAt: whole()
    .describe(
      "When it was last verified, unix time in milliseconds, to the minute and a minute or two late; absent: never.",
    )
    .optional(),
  expires: whole()
    .describe("When it expires, unix time in milliseconds; absent: never.")
    .optional(),
  permissions: z
    .array(z.string())
    .describe("Slugs of all its permissions, its own and those of its roles; absent: none.")
    .optional(),
  roles: z.array(z.string()).describe("Names of its roles; absent: none.").optional(),
  credits: CreditsResponse.describe(
    "What it may still spend; absent for a key without a limit.",
  ).optional(),
  identity: IdentityResponse.describe(
    "The user or tenant that it belongs to; absent: none.",
  ).optional(),
  plaintext: z
    .string()
    .describe("The key itself: only with `decrypt`, and only of a recoverable key.")
    .optional(),
  ratelimits: z
    .array(RatelimitResponse)
    .describe("Its own rate limits, without those of its identity; absent: none.")
    .optional(),
});
export type KeyResponse = z.infer<typeof KeyResponse>;

/** Examples of the reference page that several procedures on keys share. */
export const exampleApiId = "api_kQ3vT8mYx1Zr5LbN";
export const exampleKeyId = "key_h7Rw2PqXc9VtJ4sK";
export const exampleKey = "pay_8Fh3kQzVtR5wXyN2mJ7cPd";

export const exampleRefill = { interval: "monthly", amount: 1_000, refillDay: 1 } as const;

export const exampleStoredKey: KeyResponse = {
  keyId: exampleKeyId,
  start: "pay_8Fh3",
  enabled: true,
  name: "Payments of shop 7",
  meta: { shop: 7 },
  createdAt: 1_793_880_000_000,
  lastUsedAt: 1_794_139_200_000,
  expires: 1_801_656_000_000,
  permissions: [examplePermission.slug],
  roles: [exampleRole.name],
  credits: { remaining: 750, refill: exampleRefill },
  identity: exampleIdentity,
  ratelimits: [{ id: "rl_Yb4tGm9KzW2cQxS7", ...exampleLimit }],
};
