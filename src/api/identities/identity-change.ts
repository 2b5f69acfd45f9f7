/** The common part of creating, updating and deleting an identity. */
import type { AuditEntry } from "#api/changes/audit.ts";
import type { Change } from "#api/changes/change.ts";
import type { Call } from "#api/procedure.ts";
import { findIdentity, identityNotFound } from "./identity-store.ts";

type IdentityName = { id: string; externalId: string };

/** Throws the 404. */
export async function lockIdentity(
  { transaction }: Change,
  { workspaceId }: Call,
  idOrExternalId: string,
): Promise<IdentityName> {
  const { id, externalId } = await findIdentity(transaction, workspaceId, idOrExternalId);
  const { rowCount } = await transaction.query(
    "SELECT 1 FROM identities WHERE id = $1 AND deleted_at IS NULL FOR UPDATE",
    [id],
  );
  // It was deleted while this call waited for the lock.
  if (rowCount === 0) throw identityNotFound();
  return { id, externalId };
}

/** The owner of the identity's rate limits. */
export const ownerOf = ({ workspaceId }: Call, id: string) =>
  ({ workspaceId, column: "identity_id", id }) as const;

const verbs = { create: "Created", update: "Updated", delete: "Deleted" } as const;

export function identityEntry(
  what: keyof typeof verbs,
  { id, externalId }: IdentityName,
): AuditEntry {
  return {
    event: `identity.${what}`,
    description: `${verbs[what]} identity ${externalId} (${id})`,
    targets: [{ type: "identity", id, name: externalId }],
  };
}
