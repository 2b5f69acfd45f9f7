/** Finds the cached keys that a change of a role or a permission makes stale. */
import type { ClientBase } from "pg";
import type { Stale } from "#api/cache/invalidation.ts";

/** Above it, invalidating all keys of the workspace is cheaper than naming each. */
const maxNamedKeys = 1_000;

export function staleKeys(workspaceId: string, keyIds: readonly string[]): Stale[] {
  return keyIds.length > maxNamedKeys
    ? [`workspace:${workspaceId}`]
    : keyIds.map((id): Stale => `key:${id}`);
}

/** The keys with a role: at most one more than `maxNamedKeys`. */
export async function keysWithRole(transaction: ClientBase, roleId: string): Promise<string[]> {
  return keyIds(transaction, "SELECT key_id FROM key_roles WHERE role_id = $1", roleId);
}

/** Finds keys that have the permission directly or by a role. */
export async function keysWithPermission(
  transaction: ClientBase,
  permissionId: string,
): Promise<string[]> {
  const query = `
    SELECT key_id FROM key_permissions WHERE permission_id = $1
    UNION
    SELECT kr.key_id FROM role_permissions rp JOIN key_roles kr ON kr.role_id = rp.role_id
    WHERE rp.permission_id = $1`;
  return keyIds(transaction, query, permissionId);
}

async function keyIds(transaction: ClientBase, query: string, id: string): Promise<string[]> {
  const limited = `${query} LIMIT ${maxNamedKeys + 1}`;
  const { rows } = await transaction.query<{ key_id: string }>(limited, [id]);
  return rows.map(({ key_id }) => key_id);
}
