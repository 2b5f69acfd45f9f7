import { present } from "#api/present.ts";
import { describeRules } from "#api/ratelimit-rules.ts";
import type { IdentityResponse } from "#api/schema.ts";
import type { IdentityRow } from "./identity-store.ts";

export function describeIdentity(identity: IdentityRow): IdentityResponse {
  return {
    id: identity.id,
    externalId: identity.externalId,
    meta: present(identity.meta),
    ratelimits: describeRules(identity.ratelimits),
  };
}
