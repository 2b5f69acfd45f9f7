import { z } from "zod";
import { procedure } from "#api/procedure.ts";
import { RoleName, RoleResponse } from "#api/schemas/schema.ts";
import type { PermissionsParts } from "./parts.ts";
import { findRole } from "./role-store.ts";

export function getRole({ database }: PermissionsParts) {
  return procedure({
    summary: "Returns a role and its permissions by its id or name.",
    input: z.strictObject({ role: RoleName }),
    output: RoleResponse,
    permission: () => "rbac.*.read_role",
    refusals: [404],
    handle: async (input, { workspaceId }) => ({
      data: await findRole(database, workspaceId, input.role),
    }),
  });
}
