import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { examplePermission, PermissionSlug } from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import { Description, type PermissionsParts, permissionCreated } from "./permission-store.ts";

const Input = z.strictObject({
  name: text({ min: 1, max: 512 }).describe("A name for people, 1 to 512 characters."),
  slug: PermissionSlug.describe(
    "By which keys and roles are given it and verifications ask for it. No other permission may have it, in whatever case.",
  ),
  description: Description.optional(),
});
type Input = z.infer<typeof Input>;

export function createPermission({ change }: PermissionsParts) {
  return procedure({
    summary: "Creates a permission that keys and roles can be given.",
    input: Input,
    output: z.object({
      permissionId: z.string().describe("The id of the new permission, `perm_…`."),
    }),
    example: {
      body: {
        name: examplePermission.name,
        slug: examplePermission.slug,
        description: examplePermission.description,
      },
      data: { permissionId: examplePermission.id },
    },
    permission: () => "rbac.*.create_permission",
    refusals: [409],
    handle: async (input, call) => ({
      data: { permissionId: await change(call, (made) => insertPermission(made, call, input)) },
    }),
  });
}

/** Returns the new permission's id. Throws the 409 when the slug is taken, regardless of case. */
async function insertPermission(
  change: Change,
  { workspaceId }: Call,
  { name, slug, description }: Input,
): Promise<string> {
  const id = newId("permission");
  const { rowCount } = await change.transaction.query(
    `INSERT INTO permissions (id, workspace_id, name, slug, description)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id, lower(slug)) DO NOTHING`,
    [id, workspaceId, name, slug, description || null],
  );
  if (rowCount === 0) {
    const detail = `A permission with slug '${slug}' already exists in this workspace.`;
    throw new ApiError("unkey/data/permission_already_exists", detail);
  }
  change.record(permissionCreated(id, slug));
  return id;
}
