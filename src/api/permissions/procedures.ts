/** The namespace `permissions`: what keys may be allowed, and roles that bundle it. */
import { z } from "zod";
import { allOf } from "#api/access/grants.ts";
import type { MakeChange } from "#api/changes/change.ts";
import { type Procedures, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import { likePattern, toPage } from "#api/schemas/page.ts";
import {
  Empty,
  PermissionResponse,
  PermissionSlug,
  pageSize,
  patterned,
  RoleName,
  RoleResponse,
  text,
} from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";
import { createPermission, deletePermission } from "./permission-changes.ts";
import { findPermission, listPermissions } from "./permission-store.ts";
import { createRole, deleteRole, setRolePermissions } from "./role-changes.ts";
import { findRole, listRoleIds, readRoles } from "./role-store.ts";

type Parts = { database: Database; change: MakeChange };

const Description = text({ max: 512 }).optional();
const Slugs = list(PermissionSlug);
const RoleId = patterned(/^[a-zA-Z0-9_-]+$/, { min: 3, max: 255 });
const Page = z.strictObject({
  limit: pageSize(100),
  cursor: text({ max: 1_024 }).optional(),
  search: text({ max: 256 }).optional(),
});

export function permissionsProcedures(parts: Parts): Procedures {
  return { ...permissionProcedures(parts), ...roleProcedures(parts) };
}

function permissionProcedures({ database, change }: Parts) {
  return {
    createPermission: procedure({
      summary: "Creates a permission that keys and roles can be given.",
      input: z.strictObject({
        name: text({ min: 1, max: 512 }),
        slug: PermissionSlug,
        description: Description,
      }),
      output: z.object({ permissionId: z.string() }),
      permission: () => "rbac.*.create_permission",
      refusals: [409],
      handle: async (input, call) => ({
        data: { permissionId: await change(call, (made) => createPermission(made, call, input)) },
      }),
    }),
    getPermission: procedure({
      summary: "Answers a permission by its id or slug.",
      input: z.strictObject({ permission: PermissionSlug }),
      output: PermissionResponse,
      permission: () => "rbac.*.read_permission",
      refusals: [404],
      handle: async (input, { workspaceId }) => ({
        data: await findPermission(database, workspaceId, input.permission),
      }),
    }),
    listPermissions: procedure({
      summary: "Lists permissions by id, a page at a time.",
      input: Page,
      output: z.array(PermissionResponse),
      permission: () => "rbac.*.read_permission",
      handle: async ({ limit, cursor = "", search }, { workspaceId }) => {
        const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
        const { rows, pagination } = toPage(await listPermissions(database, query), limit);
        return { data: rows, pagination };
      },
    }),
    deletePermission: procedure({
      summary: "Deletes a permission, also from the keys and roles that have it.",
      input: z.strictObject({ permission: PermissionSlug }),
      output: Empty,
      permission: () => "rbac.*.delete_permission",
      refusals: [404],
      handle: async (input, call) => {
        await change(call, (made) => deletePermission(made, call, input.permission));
        return { data: {} };
      },
    }),
  };
}

function roleProcedures({ database, change }: Parts) {
  return {
    createRole: procedure({
      summary: "Creates a role, with permissions that are created where they are missing.",
      input: z.strictObject({
        name: RoleName,
        description: Description,
        permissions: Slugs.optional(),
      }),
      output: z.object({ roleId: z.string() }),
      permission: ({ permissions = [] }) =>
        permissions.length === 0
          ? "rbac.*.create_role"
          : allOf("rbac.*.create_role", "rbac.*.add_permission_to_role"),
      refusals: [409],
      handle: async (input, call) => ({
        data: { roleId: await change(call, (made) => createRole(made, call, input)) },
      }),
    }),
    getRole: procedure({
      summary: "Answers a role and its permissions by its id or name.",
      input: z.strictObject({ role: RoleName }),
      output: RoleResponse,
      permission: () => "rbac.*.read_role",
      refusals: [404],
      handle: async (input, { workspaceId }) => ({
        data: await findRole(database, workspaceId, input.role),
      }),
    }),
    listRoles: procedure({
      summary: "Lists roles and their permissions by id, a page at a time.",
      input: Page,
      output: z.array(RoleResponse),
      permission: () => "rbac.*.read_role",
      handle: async ({ limit, cursor = "", search }, { workspaceId }) => {
        const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
        const { rows, pagination } = toPage(await listRoleIds(database, query), limit);
        const ids = rows.map(({ id }) => id);
        return { data: await readRoles(database, ids), pagination };
      },
    }),
    setRolePermissions: procedure({
      summary: "Gives a role exactly these permissions, created where they are missing.",
      input: z.strictObject({ roleId: RoleId, permissions: Slugs }),
      output: z.array(PermissionResponse),
      permission: () =>
        allOf("rbac.*.add_permission_to_role", "rbac.*.remove_permission_from_role"),
      refusals: [404],
      handle: async (input, call) => ({
        data: await change(call, (made) => setRolePermissions(made, call, input)),
      }),
    }),
    deleteRole: procedure({
      summary: "Deletes a role, also from the keys that have it; its permissions stay.",
      input: z.strictObject({ role: RoleName }),
      output: Empty,
      permission: () => "rbac.*.delete_role",
      refusals: [404],
      handle: async (input, call) => {
        await change(call, (made) => deleteRole(made, call, input.role));
        return { data: {} };
      },
    }),
  };
}
