import { z } from "zod";
import { procedure } from "#api/procedure.ts";
import { exampleRole, RoleResponse } from "#api/schemas/resources.ts";
import { type PermissionsParts, RoleRef } from "./permission-store.ts";
import { findRole } from "./role-store.ts";

export function getRole({ database }: PermissionsParts) {
  return procedure({
    summary: "Returns a role and its permissions by its id or name.",
    input: z.strictObject({ role: RoleRef }),
    output: RoleResponse,
    example: { body: { role: exampleRole.name }, data: exampleRole },
    permission: () => "rbac.*.read_role",
    refusals: [404],
    handle: async (input, { workspaceId }) => ({
      data: await findRole(database, workspaceId, input.role),
    }),
  });
}
