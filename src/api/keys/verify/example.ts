/** An example of the reference page: a verification that asks for everything. */
import { exampleKey, exampleStoredKey } from "#api/keys/examples.ts";
import { exampleLimit } from "#api/schemas/examples.ts";

const { keyId, name, meta, expires, permissions, roles, identity, ratelimits } = exampleStoredKey;

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
