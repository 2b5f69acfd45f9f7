/** The links between a role and its permissions, and the lock on the role while they change. */
import type { AuditEntry } from "#api/changes/audit.ts";
import type { Change } from "#api/changes/change.ts";
import type { Call } from "#api/procedure.ts";
import { ensurePermissions, refuseTooMany } from "./resolve.ts";
import { roleNotFound } from "./role-store.ts";

export type Role = { id: string; name: string };
export type PermissionLink = { id: string; slug: string };

/** Locks the role: transactions that give it to a key and this change wait for each other. */
export async function lockRole(
  { transaction }: Change,
  workspaceId: string,
  id: string,
): Promise<Role> {
  const { rows } = await transaction.query<Role>(
    "SELECT id, name FROM roles WHERE workspace_id = $1 AND id = $2 FOR UPDATE",
    [workspaceId, id],
  );
  if (rows[0] === undefined) throw roleNotFound(id);
  return rows[0];
}

/** The permissions with these slugs, ordered by slug. Throws the 400 when they are too many. */
export async function permissionsFor(change: Change, call: Call, slugs: readonly string[]) {
  refuseTooMany(slugs, "A role");
  const found = await ensurePermissions(change, call, { slugs, mayCreate: "withPermission" });
  return found.sort((a, b) => (a.slug < b.slug ? -1 : 1));
}

export async function connect(
  change: Change,
  role: Role,
  permissions: readonly PermissionLink[],
): Promise<void> {
  if (permissions.length === 0) return;
  await change.transaction.query(
    "INSERT INTO role_permissions (role_id, permission_id) SELECT $1, unnest($2::text[])",
    [role.id, permissions.map(({ id }) => id)],
  );
  for (const permission of permissions) change.record(linkEntry("connect", role, permission));
}

export async function disconnect(
  change: Change,
  role: Role,
  permissions: readonly PermissionLink[],
) {
  if (permissions.length === 0) return;
  await change.transaction.query(
    "DELETE FROM role_permissions WHERE role_id = $1 AND permission_id = ANY ($2)",
    [role.id, permissions.map(({ id }) => id)],
  );
  for (const permission of permissions) change.record(linkEntry("disconnect", role, permission));
}

function linkEntry(
  how: "connect" | "disconnect",
  role: Role,
  { id, slug }: PermissionLink,
): AuditEntry {
  const did = how === "connect" ? "Added" : "Removed";
  const where = how === "connect" ? "to" : "from";
  return {
    event: `authorization.${how}_role_and_permission`,
    description: `${did} permission ${slug} (${id}) ${where} role ${role.name} (${role.id})`,
    targets: [
      { type: "role", ...role },
      { type: "permission", id, name: slug },
    ],
  };
}
