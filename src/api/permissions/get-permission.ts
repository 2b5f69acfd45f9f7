import { z } from "zod";
import { procedure } from "#api/procedure.ts";
import { PermissionResponse, PermissionSlug } from "#api/schemas/schema.ts";
import type { PermissionsParts } from "./parts.ts";
import { findPermission } from "./permission-store.ts";

export function getPermission({ database }: PermissionsParts) {
  return procedure({
    summary: "Returns a permission by its id or slug.",
    input: z.strictObject({ permission: PermissionSlug }),
    output: PermissionResponse,
    permission: () => "rbac.*.read_permission",
    refusals: [404],
    handle: async (input, { workspaceId }) => ({
      data: await findPermission(database, workspaceId, input.permission),
    }),
  });
}
