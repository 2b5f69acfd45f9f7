/** Half of the namespace `permissions`: roles, which bundle permissions. */
import type { Pool } from "pg";
import { z } from "zod";
import { allOf } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, type Procedures, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import {
  Empty,
  examplePermission,
  exampleRole,
  likePattern,
  PermissionResponse,
  PermissionSlug,
  RoleName,
  RoleResponse,
  toPage,
} from "#api/schemas/resources.ts";
import { patterned } from "#api/schemas/schema.ts";
import {
  Description,
  keysWithRole,
  type ListQuery,
  PageInput,
  type PermissionsParts,
  RoleRef,
  refuseTooManyByRoles,
  staleKeys,
  toPermission,
} from "./permission-store.ts";
import {
  connect,
  disconnect,
  findRole,
  lockRole,
  type PermissionLink,
  permissionsFor,
  type RoleRow,
  roleColumns,
  rolePermissionsBytes,
  toRole,
} from "./role-store.ts";

export function roleProcedures(parts: PermissionsParts): Procedures {
  return {
    createRole: createRole(parts),
    getRole: getRole(parts),
    listRoles: listRoles(parts),
    setRolePermissions: setRolePermissions(parts),
    deleteRole: deleteRole(parts),
  };
}

function getRole({ database }: PermissionsParts) {
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

function listRoles({ database }: PermissionsParts) {
  return procedure({
    summary: "Lists roles and their permissions by id, a page at a time.",
    input: PageInput,
    output: z.array(RoleResponse).describe("The roles of the page, by id."),
    example: {
      body: { limit: 10, search: exampleRole.name },
      data: [exampleRole],
      pagination: { hasMore: false },
    },
    permission: () => "rbac.*.read_role",
    handle: async ({ limit, cursor = "", search }, { workspaceId }) => {
      const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
      const { rows, pagination } = toPage(await listRoleIds(database, query), limit);
      const ids = rows.map(({ id }) => id);
      return { data: await readRoles(database, ids), pagination };
    },
  });
}

/** The ids of a page and of the first row of the next one. */
async function listRoleIds(
  database: Pool,
  { workspaceId, limit, cursor, pattern }: ListQuery,
): Promise<{ id: string; bytes: number }[]> {
  const { rows } = await database.query<{ id: string; bytes: number }>(
    `SELECT r.id, ${rolePermissionsBytes}::float8 AS bytes
     FROM roles r
     WHERE r.workspace_id = $1 AND r.id >= $2
       AND (r.id ILIKE $3 OR r.name ILIKE $3 OR r.description ILIKE $3)
     ORDER BY r.id LIMIT $4`,
    [workspaceId, cursor, pattern, limit + 1],
  );
  return rows;
}

/** The roles with these ids, ordered by id; one that was deleted in between is left out. */
async function readRoles(database: Pool, ids: readonly string[]): Promise<RoleResponse[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<RoleRow>(
    `SELECT ${roleColumns} FROM roles r WHERE r.id = ANY($1) ORDER BY r.id`,
    [ids],
  );
  return rows.map(toRole);
}

const CreateInput = z.strictObject({
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
type CreateInput = z.infer<typeof CreateInput>;

function createRole({ change }: PermissionsParts) {
  return procedure({
    summary: "Creates a role, with permissions that are created where they are missing.",
    input: CreateInput,
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
async function insertRole(change: Change, call: Call, input: CreateInput): Promise<string> {
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

const PermissionsInput = z.strictObject({
  roleId: patterned(/^[a-zA-Z0-9_-]+$/, { min: 3, max: 255 }).describe(
    "The id of the role, `role_…`: its name is not enough.",
  ),
  permissions: list(PermissionSlug).describe(
    "Slugs of all permissions of the role, at most 1000: others are taken away, unknown ones created. An empty list removes all.",
  ),
});
type PermissionsInput = z.infer<typeof PermissionsInput>;

function setRolePermissions({ change }: PermissionsParts) {
  return procedure({
    summary: "Gives a role exactly these permissions, created where they are missing.",
    input: PermissionsInput,
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
  input: PermissionsInput,
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

function deleteRole({ change }: PermissionsParts) {
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
