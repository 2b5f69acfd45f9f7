/** Identities made, changed and deleted. */
import type { AuditEntry } from "#api/changes/audit.ts";
import type { Change } from "#api/changes/change.ts";
import { replaceRatelimits } from "#api/changes/owned-ratelimits.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import type { Call } from "#api/procedure.ts";
import { checkMetaSize } from "#api/schemas/meta-size.ts";
import type { RatelimitRequest } from "#api/schemas/schema.ts";
import { findIdentity, type IdentityRow, identityNotFound } from "./identity-store.ts";

type Meta = Record<string, unknown>;

type Content = { meta?: Meta | undefined; ratelimits?: RatelimitRequest[] | undefined };

/** Answers the new identity's id. Throws the 409 when the external id is taken. */
export async function createIdentity(
  change: Change,
  call: Call,
  { externalId, meta, ratelimits }: Content & { externalId: string },
): Promise<string> {
  const id = newId("identity");
  const { rowCount } = await change.transaction.query(
    `INSERT INTO identities (id, workspace_id, external_id, meta) VALUES ($1, $2, $3, $4)
     ON CONFLICT (workspace_id, external_id) WHERE deleted_at IS NULL DO NOTHING`,
    [id, call.workspaceId, externalId, meta === undefined ? null : checkMetaSize(meta)],
  );
  if (rowCount === 0) {
    const detail = `Identity with externalId '${externalId}' already exists in this workspace.`;
    throw new ApiError("unkey/data/identity_already_exists", detail);
  }
  change.record(entry("create", { id, externalId }));
  await replaceRatelimits(change, ownerOf(call, id), ratelimits ?? []);
  return id;
}

/** What is not given stays as it is. Answers the identity as it is then. Throws the 404. */
export async function updateIdentity(
  change: Change,
  call: Call,
  { identity, meta, ratelimits }: Content & { identity: string },
): Promise<IdentityRow> {
  const { transaction } = change;
  const found = await lockIdentity(change, call, identity);
  await transaction.query(
    "UPDATE identities SET meta = coalesce($2, meta), updated_at = now() WHERE id = $1",
    [found.id, meta === undefined ? null : checkMetaSize(meta)],
  );
  change.record(entry("update", found));
  if (ratelimits !== undefined) {
    await replaceRatelimits(change, ownerOf(call, found.id), ratelimits);
  }
  change.stale(`identity:${found.id}`);
  return findIdentity(transaction, call.workspaceId, found.id);
}

/** Its keys stay, and its external id can be used anew. Throws the 404. */
export async function deleteIdentity(change: Change, call: Call, identity: string): Promise<void> {
  const found = await lockIdentity(change, call, identity);
  await change.transaction.query("UPDATE identities SET deleted_at = now() WHERE id = $1", [
    found.id,
  ]);
  change.record(entry("delete", found));
  change.stale(`identity:${found.id}`);
}

type IdentityName = { id: string; externalId: string };

async function lockIdentity(
  { transaction }: Change,
  { workspaceId }: Call,
  idOrExternalId: string,
): Promise<IdentityName> {
  const { id, externalId } = await findIdentity(transaction, workspaceId, idOrExternalId);
  const { rowCount } = await transaction.query(
    "SELECT 1 FROM identities WHERE id = $1 AND deleted_at IS NULL FOR UPDATE",
    [id],
  );
  // It was deleted while this call waited for its row.
  if (rowCount === 0) throw identityNotFound();
  return { id, externalId };
}

const ownerOf = ({ workspaceId }: Call, id: string) =>
  ({ workspaceId, column: "identity_id", id }) as const;

const verbs = { create: "Created", update: "Updated", delete: "Deleted" } as const;

function entry(what: keyof typeof verbs, { id, externalId }: IdentityName): AuditEntry {
  return {
    event: `identity.${what}`,
    description: `${verbs[what]} identity ${externalId} (${id})`,
    targets: [{ type: "identity", id, name: externalId }],
  };
}
