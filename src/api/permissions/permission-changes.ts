/** Permissions made and deleted. */
import type { AuditEntry } from "#api/changes/audit.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import type { Call } from "#api/procedure.ts";
import { keysWithPermission, staleKeys } from "./affected-keys.ts";
import { findPermission, permissionNotFound } from "./permission-store.ts";

type NewPermission = { name: string; slug: string; description?: string | undefined };

/** Answers the new permission's id. Throws the 409 when the slug is taken, whatever its case. */
export async function createPermission(
  change: Change,
  { workspaceId }: Call,
  { name, slug, description }: NewPermission,
): Promise<string> {
  const id = newId("permission");
  const { rowCount } = await change.transaction.query(
    `INSERT INTO permissions (id, workspace_id, name, slug, description)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id, lower(slug)) DO NOTHING`,
    [id, workspaceId, name, slug, description || null],
  );
  if (rowCount === 0) {
    const detail = `A permission with slug '${slug}' already exists in this workspace.`;
    throw new ApiError("unkey/data/permission_already_exists", detail);
  }
  change.record(permissionCreated(id, slug));
  return id;
}

/** The audit entry of a permission that was made. */
export function permissionCreated(id: string, slug: string): AuditEntry {
  return {
    event: "permission.create",
    description: `Created permission ${slug} (${id})`,
    targets: [{ type: "permission", id, name: slug }],
  };
}

/** Deletes it by id or slug from roles and keys too. Throws the 404. */
export async function deletePermission(
  change: Change,
  { workspaceId }: Call,
  idOrSlug: string,
): Promise<void> {
  const { transaction } = change;
  const { id, slug } = await findPermission(transaction, workspaceId, idOrSlug);
  // The lock first: whoever links the permission holds its row until the link is committed and seen.
  const lock = "SELECT 1 FROM permissions WHERE id = $1 FOR UPDATE";
  const { rowCount } = await transaction.query(lock, [id]);
  if (rowCount === 0) throw permissionNotFound(idOrSlug);
  await lockRolesWith(change, id);
  change.stale(...staleKeys(workspaceId, await keysWithPermission(transaction, id)));
  await transaction.query("DELETE FROM permissions WHERE id = $1", [id]);
  change.record({
    event: "permission.delete",
    description: `Deleted permission ${slug} (${id})`,
    targets: [{ type: "permission", id, name: slug }],
  });
}

/** Whoever gives a key a role that has the permission waits, or is waited for and the key is seen. */
async function lockRolesWith({ transaction }: Change, permissionId: string): Promise<void> {
  await transaction.query(
    `SELECT 1 FROM roles r WHERE r.id IN (
       SELECT role_id FROM role_permissions WHERE permission_id = $1
     ) ORDER BY r.id FOR UPDATE`,
    [permissionId],
  );
}
