/** The table `roles`, as it is answered. */
import type { ClientBase, Pool } from "pg";
import { ApiError } from "#api/error.ts";
import type { RoleResponse } from "#api/schemas/schema.ts";
import { type ListQuery, type PermissionRow, toPermission } from "./permission-store.ts";

type RoleRow = {
  id: string;
  name: string;
  description: string | null;
  permissions: PermissionRow[];
};

/** The permissions of the role `r` as JSON. */
const rolePermissions = `(SELECT coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name,
     'slug', p.slug, 'description', p.description) ORDER BY p.slug), '[]')
   FROM role_permissions rp JOIN permissions p ON p.id = rp.permission_id
   WHERE rp.role_id = r.id)`;

/** About how much those are of an answer. */
const rolePermissionsBytes = `(SELECT coalesce(sum(100 + octet_length(p.name) + octet_length(p.slug)
     + coalesce(octet_length(p.description), 0)), 0)
   FROM role_permissions rp JOIN permissions p ON p.id = rp.permission_id
   WHERE rp.role_id = r.id)`;

/** The columns that `toRole` reads; `r` is the table. */
const roleColumns = `r.id, r.name, r.description, ${rolePermissions} AS permissions`;

/** What is empty is left out. */
function toRole({ id, name, description, permissions }: RoleRow): RoleResponse {
  return {
    id,
    name,
    ...(description && { description }),
    ...(permissions.length > 0 && { permissions: permissions.map(toPermission) }),
  };
}

/** The role of this id, else of this name, whatever its case. Throws the 404. */
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

export function roleNotFound(idOrName: string): ApiError {
  return new ApiError("unkey/data/role_not_found", `Role '${idOrName}' was not found.`);
}

/** The ids of a page and of the first row of the next one. */
export async function listRoleIds(
  database: Pool,
  { workspaceId, limit, cursor, pattern }: ListQuery,
): Promise<{ id: string; bytes: number }[]> {
  const { rows } = await database.query<{ id: string; bytes: number }>(
    `SELECT r.id, ${rolePermissionsBytes}::float8 AS bytes
     FROM roles r
     WHERE r.workspace_id = $1 AND r.id >= $2
       AND (r.id ILIKE $3 OR r.name ILIKE $3 OR r.description ILIKE $3)
     ORDER BY r.id LIMIT $4`,
    [workspaceId, cursor, pattern, limit + 1],
  );
  return rows;
}

/** The roles with these ids, in order; one that was deleted meanwhile is left out. */
export async function readRoles(database: Pool, ids: readonly string[]): Promise<RoleResponse[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<RoleRow>(
    `SELECT ${roleColumns} FROM roles r WHERE r.id = ANY($1) ORDER BY r.id`,
    [ids],
  );
  return rows.map(toRole);
}

/** The roles of a key by name; of those behind the first `bytesAtMost` without their permissions. */
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
