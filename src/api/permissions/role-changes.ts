/** Roles made, changed and deleted. */
import type { AuditEntry } from "#api/changes/audit.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import type { Call } from "#api/procedure.ts";
import type { PermissionResponse } from "#api/schemas/schema.ts";
import { keysWithRole, staleKeys } from "./affected-keys.ts";
import { toPermission } from "./permission-store.ts";
import { ensurePermissions, refuseTooMany } from "./resolve.ts";
import { refuseTooManyByRoles } from "./role-permissions.ts";
import { findRole, roleNotFound } from "./role-store.ts";

type Role = { id: string; name: string };
type PermissionLink = { id: string; slug: string };

type NewRole = {
  name: string;
  description?: string | undefined;
  permissions?: string[] | undefined;
};

/** Answers the new role's id. Throws the 409 when the name is taken, whatever its case. */
export async function createRole(change: Change, call: Call, input: NewRole): Promise<string> {
  const role = { id: newId("role"), name: input.name };
  const { rowCount } = await change.transaction.query(
    `INSERT INTO roles (id, workspace_id, name, description)
     VALUES ($1, $2, $3, $4) ON CONFLICT (workspace_id, lower(name)) DO NOTHING`,
    [role.id, call.workspaceId, role.name, input.description || null],
  );
  if (rowCount === 0) {
    const detail = `A role with name '${role.name}' already exists in this workspace.`;
    throw new ApiError("unkey/data/role_already_exists", detail);
  }
  change.record({
    event: "role.create",
    description: `Created role ${role.name} (${role.id})`,
    targets: [{ type: "role", ...role }],
  });
  await connect(change, role, await permissionsFor(change, call, input.permissions ?? []));
  return role.id;
}

/** Answers the role's permissions, ordered by slug. Throws the 404. */
export async function setRolePermissions(
  change: Change,
  call: Call,
  input: { roleId: string; permissions: string[] },
): Promise<PermissionResponse[]> {
  const role = await lockRole(change, call.workspaceId, input.roleId);
  const wanted = await permissionsFor(change, call, input.permissions);
  const current = await permissionsOf(change, role.id);
  const added = without(wanted, current);
  const removed = without(current, wanted);
  await connect(change, role, added);
  await disconnect(change, role, removed);
  if (added.length > 0) await refuseTooManyByRoles(change, { roleId: role.id });
  if (added.length + removed.length > 0) {
    change.stale(...staleKeys(call.workspaceId, await keysWithRole(change.transaction, role.id)));
  }
  return wanted.map(toPermission);
}

/** Ordered by slug. Throws the 400 when they are too many. */
async function permissionsFor(change: Change, call: Call, slugs: readonly string[]) {
  refuseTooMany(slugs, "A role");
  const found = await ensurePermissions(change, call, { slugs, mayCreate: "withPermission" });
  return found.sort((a, b) => (a.slug < b.slug ? -1 : 1));
}

/** Deletes it by id or name from keys too. Throws the 404. */
export async function deleteRole(change: Change, call: Call, idOrName: string): Promise<void> {
  const { transaction } = change;
  const { id } = await findRole(transaction, call.workspaceId, idOrName);
  const role = await lockRole(change, call.workspaceId, id);
  change.stale(...staleKeys(call.workspaceId, await keysWithRole(transaction, id)));
  await transaction.query("DELETE FROM roles WHERE id = $1", [id]);
  change.record({
    event: "role.delete",
    description: `Deleted role ${role.name} (${id})`,
    targets: [{ type: "role", ...role }],
  });
}

/** Whoever gives the role to a key waits for the change, and the change for them. */
async function lockRole({ transaction }: Change, workspaceId: string, id: string): Promise<Role> {
  const { rows } = await transaction.query<Role>(
    "SELECT id, name FROM roles WHERE workspace_id = $1 AND id = $2 FOR UPDATE",
    [workspaceId, id],
  );
  if (rows[0] === undefined) throw roleNotFound(id);
  return rows[0];
}

async function permissionsOf({ transaction }: Change, roleId: string): Promise<PermissionLink[]> {
  const { rows } = await transaction.query<PermissionLink>(
    `SELECT p.id, p.slug FROM role_permissions rp JOIN permissions p ON p.id = rp.permission_id
     WHERE rp.role_id = $1 ORDER BY p.slug`,
    [roleId],
  );
  return rows;
}

function without(
  some: readonly PermissionLink[],
  others: readonly PermissionLink[],
): readonly PermissionLink[] {
  const ids = new Set(others.map(({ id }) => id));
  return some.filter(({ id }) => !ids.has(id));
}

async function connect(
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

async function disconnect(change: Change, role: Role, permissions: readonly PermissionLink[]) {
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
