/** Limits the permissions that a key has by its roles: they are read, and returned, with the key. */
import type { Change } from "#api/changes/change.ts";
import { invalidInput } from "#api/error.ts";

const maxByRoles = 20_000;

/** Throws the 400 when the key, or one of the keys with the role, has more than `maxByRoles`. */
export async function refuseTooManyByRoles(
  { transaction }: Change,
  of: { keyId: string } | { roleId: string },
): Promise<void> {
  const keys =
    "keyId" in of ? "SELECT $1::text" : "SELECT key_id FROM key_roles WHERE role_id = $1";
  const { rowCount } = await transaction.query(
    `WITH held AS (SELECT key_id, role_id FROM key_roles WHERE key_id IN (${keys})),
       sizes AS (
         SELECT role_id, count(*) AS n FROM role_permissions
         WHERE role_id IN (SELECT role_id FROM held) GROUP BY role_id
       )
     SELECT 1 FROM held JOIN sizes USING (role_id) GROUP BY key_id HAVING sum(n) > $2 LIMIT 1`,
    ["keyId" in of ? of.keyId : of.roleId, maxByRoles],
  );
  if (rowCount === 0) return;
  throw invalidInput(`A key can have at most ${maxByRoles} permissions by its roles.`);
}
