/** Half of the namespace `permissions`: permissions, which keys and roles are given. */
import type { Pool } from "pg";
import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, type Procedures, procedure } from "#api/procedure.ts";
import {
  Empty,
  examplePermission,
  likePattern,
  PermissionResponse,
  PermissionSlug,
  toPage,
} from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import {
  Description,
  findPermission,
  keysWithPermission,
  type ListQuery,
  PageInput,
  PermissionRef,
  type PermissionRow,
  type PermissionsParts,
  permissionColumns,
  permissionCreated,
  permissionNotFound,
  staleKeys,
  toPermission,
} from "./permission-store.ts";

export function permissionProcedures(parts: PermissionsParts): Procedures {
  return {
    createPermission: createPermission(parts),
    getPermission: getPermission(parts),
    listPermissions: listPermissions(parts),
    deletePermission: deletePermission(parts),
  };
}

function getPermission({ database }: PermissionsParts) {
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

function listPermissions({ database }: PermissionsParts) {
  return procedure({
    summary: "Lists permissions by id, a page at a time.",
    input: PageInput,
    output: z.array(PermissionResponse).describe("The permissions of the page, by id."),
    example: {
      body: { limit: 10, search: examplePermission.name },
      data: [examplePermission],
      pagination: { hasMore: false },
    },
    permission: () => "rbac.*.read_permission",
    handle: async ({ limit, cursor = "", search }, { workspaceId }) => {
      const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
      const { rows, pagination } = toPage(await readPermissions(database, query), limit);
      return { data: rows, pagination };
    },
  });
}

/** A page and the first row of the next one. */
async function readPermissions(
  database: Pool,
  { workspaceId, limit, cursor, pattern }: ListQuery,
): Promise<PermissionResponse[]> {
  const { rows } = await database.query<PermissionRow>(
    `SELECT ${permissionColumns} FROM permissions p
     WHERE p.workspace_id = $1 AND p.id >= $2
       AND (p.id ILIKE $3 OR p.name ILIKE $3 OR p.slug ILIKE $3 OR p.description ILIKE $3)
     ORDER BY p.id LIMIT $4`,
    [workspaceId, cursor, pattern, limit + 1],
  );
  return rows.map(toPermission);
}

const CreateInput = z.strictObject({
  name: text({ min: 1, max: 512 }).describe("A name for people, 1 to 512 characters."),
  slug: PermissionSlug.describe(
    "By which keys and roles are given it and verifications ask for it. No other permission may have it, in whatever case.",
  ),
  description: Description.optional(),
});
type CreateInput = z.infer<typeof CreateInput>;

function createPermission({ change }: PermissionsParts) {
  return procedure({
    summary: "Creates a permission that keys and roles can be given.",
    input: CreateInput,
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
  { name, slug, description }: CreateInput,
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

function deletePermission({ change }: PermissionsParts) {
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
