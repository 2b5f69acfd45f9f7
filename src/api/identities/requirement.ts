/** The permissions that procedures on identities require: plain ones, or URNs with wildcards. */
import { anyOf, type Requirement, tuple } from "#api/access/grants.ts";
import type { Call } from "#api/procedure.ts";

type Action = `${"create" | "read" | "update" | "delete"}_identity`;

/** Requires the action on all identities, including ones that do not exist. */
export function ofIdentities({ workspaceId }: Call, action: Action): Requirement {
  return anyOf(`identity.*.${action}`, urn(workspaceId, "*", action));
}

export function ofIdentity({ workspaceId }: Call, id: string, action: Action): Requirement {
  return anyOf(tuple("identity", id, action), urn(workspaceId, id, action));
}

function urn(workspaceId: string, id: string, action: Action): string {
  return `unkey:v1:${workspaceId}:identities/${id}#${action}`;
}
