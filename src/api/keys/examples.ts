/** Examples of the reference page that several procedures on keys share. */
import {
  exampleIdentity,
  exampleLimit,
  examplePermission,
  exampleRole,
} from "#api/schemas/examples.ts";
import type { KeyResponse } from "./schemas.ts";

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
