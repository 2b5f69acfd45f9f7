/** Examples of the reference page that several namespaces share. */
import type { IdentityResponse, PermissionResponse, RoleResponse } from "./resources.ts";

/** A rate limit as a caller defines it. */
export const exampleLimit = { name: "requests", limit: 100, duration: 60_000, autoApply: true };

export const exampleIdentity: IdentityResponse = {
  id: "id_Zs6nB1xLq8Tf3RkD",
  externalId: "user_42",
  meta: { plan: "pro" },
};

export const examplePermission: PermissionResponse = {
  id: "perm_V5cXr8Jd2NwQk7Hz",
  name: "Read invoices",
  slug: "invoices.read",
  description: "Lists invoices and downloads them.",
};

export const exampleRole: RoleResponse = {
  id: "role_T9gLp3Fs6MbYx1Wc",
  name: "accountant",
  description: "Whoever keeps the books of a shop.",
  permissions: [examplePermission],
};
