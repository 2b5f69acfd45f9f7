import { z } from "zod";
import { allOf } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import {
  examplePermission,
  exampleRole,
  PermissionSlug,
  RoleName,
} from "#api/schemas/resources.ts";
import { Description, type PermissionsParts } from "./permission-store.ts";
import { connect, permissionsFor } from "./role-store.ts";

const Input = z.strictObject({
  name: RoleName.describe(
    "By which keys are given the role. No other role may have it, in whatever case.",
  ),
  description: Description.optional(),
  permissions: list(PermissionSlug)
    .describe(
      "Slugs of the permissions of the role, at most 1000. Unknown ones are created; absent: none.",
    )
    .optional(),
});
type Input = z.infer<typeof Input>;

export function createRole({ change }: PermissionsParts) {
  return procedure({
    summary: "Creates a role, with permissions that are created where they are missing.",
    input: Input,
    output: z.object({ roleId: z.string().describe("The id of the new role, `role_…`.") }),
    example: {
      body: {
        name: exampleRole.name,
        description: exampleRole.description,
        permissions: [examplePermission.slug],
      },
      data: { roleId: exampleRole.id },
    },
    permission: ({ permissions = [] }) =>
      permissions.length === 0
        ? "rbac.*.create_role"
        : allOf("rbac.*.create_role", "rbac.*.add_permission_to_role"),
    refusals: [409],
    handle: async (input, call) => ({
      data: { roleId: await change(call, (made) => insertRole(made, call, input)) },
    }),
  });
}

/** Returns the new role's id. Throws the 409 when the name is taken, regardless of case. */
async function insertRole(change: Change, call: Call, input: Input): Promise<string> {
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
