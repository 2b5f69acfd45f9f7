/** The permissions and roles of a key as they are shown. */
import type { ClientBase } from "pg";
import type { PermissionResponse, RoleResponse } from "#api/schema.ts";

type PermissionRow = { id: string; name: string; slug: string; description: string | null };

/** Those it has directly, by slug. */
export async function permissionsOfKey(
  transaction: ClientBase,
  keyId: string,
): Promise<PermissionResponse[]> {
  const { rows } = await transaction.query<PermissionRow>(
    `SELECT p.id, p.name, p.slug, p.description
     FROM key_permissions kp JOIN permissions p ON p.id = kp.permission_id
     WHERE kp.key_id = $1 ORDER BY p.slug`,
    [keyId],
  );
  return rows.map(describePermission);
}

/** With the permissions of each, by name. */
export async function rolesOfKey(transaction: ClientBase, keyId: string): Promise<RoleResponse[]> {
  const { rows } = await transaction.query<{
    id: string;
    name: string;
    description: string | null;
    permissions: PermissionRow[];
  }>(
    `SELECT r.id, r.name, r.description, coalesce(jsonb_agg(jsonb_build_object('id', p.id,
       'name', p.name, 'slug', p.slug, 'description', p.description) ORDER BY p.slug)
       FILTER (WHERE p.id IS NOT NULL), '[]') AS permissions
     FROM key_roles kr JOIN roles r ON r.id = kr.role_id
     LEFT JOIN role_permissions rp ON rp.role_id = r.id
     LEFT JOIN permissions p ON p.id = rp.permission_id
     WHERE kr.key_id = $1 GROUP BY r.id ORDER BY r.name`,
    [keyId],
  );
  return rows.map(({ id, name, description, permissions }) => ({
    id,
    name,
    description: description ?? undefined,
    permissions: permissions.length === 0 ? undefined : permissions.map(describePermission),
  }));
}

function describePermission({ description, ...permission }: PermissionRow): PermissionResponse {
  return { ...permission, description: description ?? undefined };
}
