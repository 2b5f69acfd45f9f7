import { z } from "zod";
import { exampleKey, exampleStoredKey } from "#api/keys/schemas.ts";
import { list } from "#api/schemas/list.ts";
import { exampleLimit, IdentityResponse } from "#api/schemas/resources.ts";
import { isUsualText, Meta, text, whole } from "#api/schemas/schema.ts";

const RequestedLimit = z.strictObject({
  name: text({ min: 3, max: 255 }).describe(
    "The name of a limit of the key or its identity, or of one that `limit` and `duration` define here.",
  ),
  cost: whole({ min: 0 })
    .default(1)
    .describe("How much is counted; 0 looks without counting. Absent: 1."),
  limit: whole({ min: 0 })
    .describe("How much may be counted in one window. Counts only together with `duration`.")
    .optional(),
  duration: whole({ min: 0 })
    .describe(
      "Length of a window in milliseconds, at least 1000. Counts only together with `limit`; without both the limit is as it is stored.",
    )
    .optional(),
});

export const VerifyInput = z.strictObject({
  key: text({ min: 1, max: 512 }).describe("The key itself, as your user sent it to you."),
  tags: list(text({ min: 1, max: 512 }), { max: 20 })
    .describe("Labels of this verification, by which analytics can group: at most 20.")
    .optional(),
  permissions: text({ min: 1, max: 1_000 })
    .describe(
      "What the key must be allowed: slugs joined by AND, OR and parentheses, `invoices.read AND (shop.7 OR shop.8)`. Absent: nothing is asked.",
    )
    .optional(),
  credits: z
    .strictObject({
      cost: whole({ min: 0, max: 1_000_000_000_000 }).describe(
        "How many credits are spent if the key is valid; 0 spends none.",
      ),
    })
    .describe("What the verification costs a key with limited credits; absent: 1.")
    .optional(),
  ratelimits: list(RequestedLimit)
    .describe(
      "Limits to count against besides those of the key and its identity that always apply: at most 100, all or none are counted.",
    )
    .optional(),
  migrationId: text({ max: 256 })
    .describe(
      "Which program the key may come from, as in `keys.migrateKeys`: needed until its first use here.",
    )
    .optional(),
});
export type VerifyInput = z.infer<typeof VerifyInput>;

/** `readUsual` of the procedure: a body with nothing but a key. */
export function readKeyAlone(body: unknown): VerifyInput | undefined {
  const { key } = (body ?? {}) as { key?: unknown };
  return isUsualText(key, 512) && Object.keys(body as object).length === 1 ? { key } : undefined;
}

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
  exceeded: z.boolean().describe("Whether this limit refused the verification."),
  id: z.string().describe("The id of the limit, `rl_…`; empty for one that the request defined."),
  name: z.string().describe("The name of the limit."),
  limit: whole().describe("How much may be counted in one window."),
  duration: whole().describe("Length of a window in milliseconds."),
  reset: whole().describe("When the window ends, unix time in milliseconds."),
  remaining: whole().describe("How much may still be counted in this window."),
  autoApply: z
    .boolean()
    .describe("Whether every verification counts against it; false: the request named it."),
});
export type VerifyRatelimit = z.infer<typeof VerifyRatelimit>;

export const VerifyOutput = z.object({
  valid: z.boolean().describe("Whether to let the caller in. It is the same as `code` `VALID`."),
  code: z
    .enum(verifyCodes)
    .describe(
      "Why, by the first check that failed: `NOT_FOUND` also stands for keys that the root key may not verify, `FORBIDDEN` for a caller's address that is not allowed or a disabled workspace, `USAGE_EXCEEDED` for spent credits.",
    ),
  keyId: z
    .string()
    .describe("The id of the key, `key_…`; absent: there is no such key.")
    .optional(),
  name: z.string().describe("The key's name; absent when it has none.").optional(),
  meta: Meta.describe("The key's metadata; absent when it has none.").optional(),
  expires: whole()
    .describe("When the key expires, unix time in milliseconds; absent: never.")
    .optional(),
  credits: whole()
    .describe("How many credits are left after this verification; absent: no limit.")
    .optional(),
  enabled: z.boolean().describe("Whether the key is enabled.").optional(),
  permissions: z
    .array(z.string())
    .describe("Slugs of all its permissions, its own and those of its roles; absent: none.")
    .optional(),
  roles: z.array(z.string()).describe("Names of its roles; absent: none.").optional(),
  identity: IdentityResponse.describe(
    "The user or tenant that the key belongs to; absent: none.",
  ).optional(),
  ratelimits: z
    .array(VerifyRatelimit)
    .describe(
      "The limits that were counted against; absent when there are none, or an earlier check failed.",
    )
    .optional(),
});
export type VerifyOutput = z.infer<typeof VerifyOutput>;

const { keyId, name, meta, expires, permissions, roles, identity, ratelimits } = exampleStoredKey;

/** An example of the reference page: a verification that asks for everything. */
export const exampleVerification = {
  body: {
    key: exampleKey,
    tags: ["path=/invoices"],
    permissions: "invoices.read",
    credits: { cost: 1 },
    ratelimits: [{ name: exampleLimit.name, cost: 2 }],
  },
  data: {
    valid: true,
    code: "VALID" as const,
    keyId,
    name,
    meta,
    expires,
    credits: 749,
    enabled: true,
    permissions,
    roles,
    identity,
    ratelimits: ratelimits?.map((limit) => ({
      exceeded: false,
      ...limit,
      reset: 1_794_139_260_000,
      remaining: 98,
    })),
  },
};
