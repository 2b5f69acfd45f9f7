import { z } from "zod";
import { allOf } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import {
  examplePermission,
  exampleRole,
  PermissionResponse,
  PermissionSlug,
} from "#api/schemas/resources.ts";
import { patterned } from "#api/schemas/schema.ts";
import {
  keysWithRole,
  type PermissionsParts,
  refuseTooManyByRoles,
  staleKeys,
  toPermission,
} from "./permission-store.ts";
import {
  connect,
  disconnect,
  lockRole,
  type PermissionLink,
  permissionsFor,
} from "./role-store.ts";

const Input = z.strictObject({
  roleId: patterned(/^[a-zA-Z0-9_-]+$/, { min: 3, max: 255 }).describe(
    "The id of the role, `role_…`: its name is not enough.",
  ),
  permissions: list(PermissionSlug).describe(
    "Slugs of all permissions of the role, at most 1000: others are taken away, unknown ones created. An empty list removes all.",
  ),
});
type Input = z.infer<typeof Input>;

export function setRolePermissions({ change }: PermissionsParts) {
  return procedure({
    summary: "Gives a role exactly these permissions, created where they are missing.",
    input: Input,
    output: z.array(PermissionResponse).describe("The permissions that the role then has."),
    example: {
      body: { roleId: exampleRole.id, permissions: [examplePermission.slug] },
      data: [examplePermission],
    },
    permission: () => allOf("rbac.*.add_permission_to_role", "rbac.*.remove_permission_from_role"),
    refusals: [404],
    handle: async (input, call) => ({
      data: await change(call, (made) => replacePermissions(made, call, input)),
    }),
  });
}

/** Returns the role's permissions, ordered by slug. Throws the 404. */
async function replacePermissions(
  change: Change,
  call: Call,
  input: Input,
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
