/** The permissions of a key as they are shown. */
import type { ClientBase } from "pg";
import type { PermissionResponse } from "#api/schemas/schema.ts";

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

function describePermission({ description, ...permission }: PermissionRow): PermissionResponse {
  return { ...permission, description: description ?? undefined };
}
