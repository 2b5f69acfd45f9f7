import { z } from "zod";
import { procedure } from "#api/procedure.ts";
import { examplePermission, PermissionResponse } from "#api/schemas/resources.ts";
import { findPermission, PermissionRef, type PermissionsParts } from "./permission-store.ts";

export function getPermission({ database }: PermissionsParts) {
  return procedure({
    summary: "Returns a permission by its id or slug.",
    input: z.strictObject({ permission: PermissionRef }),
    output: PermissionResponse,
    example: { body: { permission: examplePermission.slug }, data: examplePermission },
    permission: () => "rbac.*.read_permission",
    refusals: [404],
    handle: async (input, { workspaceId }) => ({
      data: await findPermission(database, workspaceId, input.permission),
    }),
  });
}
