import { present } from "#api/schemas/present.ts";
import { describeRules } from "#api/schemas/ratelimit-rules.ts";
import type { IdentityResponse } from "#api/schemas/resources.ts";
import type { IdentityRow } from "./identity-store.ts";

export function describeIdentity(identity: IdentityRow): IdentityResponse {
  return {
    id: identity.id,
    externalId: identity.externalId,
    meta: present(identity.meta),
    ratelimits: describeRules(identity.ratelimits),
  };
}
