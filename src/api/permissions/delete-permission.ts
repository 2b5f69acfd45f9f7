import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { Empty, examplePermission } from "#api/schemas/resources.ts";
import {
  findPermission,
  keysWithPermission,
  PermissionRef,
  type PermissionsParts,
  permissionNotFound,
  staleKeys,
} from "./permission-store.ts";

export function deletePermission({ change }: PermissionsParts) {
  return procedure({
    summary: "Deletes a permission, also from the keys and roles that have it.",
    input: z.strictObject({ permission: PermissionRef }),
    output: Empty,
    example: { body: { permission: examplePermission.slug }, data: {} },
    permission: () => "rbac.*.delete_permission",
    refusals: [404],
    handle: async (input, call) => {
      await change(call, (made) => removePermission(made, call, input.permission));
      return { data: {} };
    },
  });
}

/** Deletes a permission by id or slug, from roles and keys too. Throws the 404. */
async function removePermission(
  change: Change,
  { workspaceId }: Call,
  idOrSlug: string,
): Promise<void> {
  const { transaction } = change;
  const { id, slug } = await findPermission(transaction, workspaceId, idOrSlug);
  // The lock first: a transaction that links the permission holds its row until the link is committed.
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

/** Locks the roles: a transaction that gives a key one of them either waits or has committed its link. */
async function lockRolesWith({ transaction }: Change, permissionId: string): Promise<void> {
  await transaction.query(
    `SELECT 1 FROM roles r WHERE r.id IN (
       SELECT role_id FROM role_permissions WHERE permission_id = $1
     ) ORDER BY r.id FOR UPDATE`,
    [permissionId],
  );
}
