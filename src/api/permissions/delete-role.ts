import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { Empty, exampleRole } from "#api/schemas/resources.ts";
import { keysWithRole, type PermissionsParts, RoleRef, staleKeys } from "./permission-store.ts";
import { findRole, lockRole } from "./role-store.ts";

export function deleteRole({ change }: PermissionsParts) {
  return procedure({
    summary: "Deletes a role, also from the keys that have it; its permissions stay.",
    input: z.strictObject({ role: RoleRef }),
    output: Empty,
    example: { body: { role: exampleRole.name }, data: {} },
    permission: () => "rbac.*.delete_role",
    refusals: [404],
    handle: async (input, call) => {
      await change(call, (made) => removeRole(made, call, input.role));
      return { data: {} };
    },
  });
}

/** Deletes a role by id or name, from keys too. Throws the 404. */
async function removeRole(change: Change, call: Call, idOrName: string): Promise<void> {
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
