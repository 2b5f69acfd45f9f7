import type { ClientBase, Pool } from "pg";
import type { AuditEntry, Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import type { Call } from "#api/procedure.ts";
import type { RoleResponse } from "#api/schemas/resources.ts";
import { type PermissionRow, toPermission } from "./permission-store.ts";
import { ensurePermissions, refuseTooMany } from "./resolve.ts";

export type RoleRow = {
  id: string;
  name: string;
  description: string | null;
  permissions: PermissionRow[];
};

const rolePermissions = `(SELECT coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name,
     'slug', p.slug, 'description', p.description) ORDER BY p.slug), '[]')
   FROM role_permissions rp JOIN permissions p ON p.id = rp.permission_id
   WHERE rp.role_id = r.id)`;

/** About how many bytes of an answer those take. */
export const rolePermissionsBytes = `(SELECT coalesce(sum(100 + octet_length(p.name) + octet_length(p.slug)
     + coalesce(octet_length(p.description), 0)), 0)
   FROM role_permissions rp JOIN permissions p ON p.id = rp.permission_id
   WHERE rp.role_id = r.id)`;

export const roleColumns = `r.id, r.name, r.description, ${rolePermissions} AS permissions`;

/** A role as the wire has it; empty values are left out. */
export function toRole({ id, name, description, permissions }: RoleRow): RoleResponse {
  return {
    id,
    name,
    ...(description && { description }),
    ...(permissions.length > 0 && { permissions: permissions.map(toPermission) }),
  };
}

/** The role with this id, else with this name, regardless of case. Throws the 404. */
export async function findRole(
  database: Pool | ClientBase,
  workspaceId: string,
  idOrName: string,
): Promise<RoleResponse> {
  const { rows } = await database.query<RoleRow>(
    `SELECT ${roleColumns} FROM roles r
     WHERE r.workspace_id = $1 AND (r.id = $2 OR lower(r.name) = lower($2))
     ORDER BY r.id = $2 DESC LIMIT 1`,
    [workspaceId, idOrName],
  );
  if (rows[0] === undefined) throw roleNotFound(idOrName);
  return toRole(rows[0]);
}

function roleNotFound(idOrName: string): ApiError {
  return new ApiError("unkey/data/role_not_found", `Role '${idOrName}' was not found.`);
}

/** The roles of a key, ordered by name; those beyond the first `bytesAtMost` bytes without their permissions. */
export async function rolesOfKey(
  connection: ClientBase,
  keyId: string,
  bytesAtMost: number,
): Promise<RoleResponse[]> {
  const { rows } = await connection.query<RoleRow>(
    `SELECT r.id, r.name, r.description,
       CASE WHEN r.bytes <= $2 THEN ${rolePermissions} ELSE '[]' END AS permissions
     FROM (
       SELECT r.*, sum(${rolePermissionsBytes}) OVER (ORDER BY r.name, r.id) AS bytes
       FROM key_roles kr JOIN roles r ON r.id = kr.role_id WHERE kr.key_id = $1
     ) r ORDER BY r.name, r.id`,
    [keyId, bytesAtMost],
  );
  return rows.map(toRole);
}

type Role = { id: string; name: string };
/** The links between a role and its permissions, and the lock on the role while they change. */
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
