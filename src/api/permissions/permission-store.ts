import type { ClientBase, Pool } from "pg";
import { z } from "zod";
import type { Stale } from "#api/cache/invalidation.ts";
import type { AuditEntry, Change, MakeChange } from "#api/changes/change.ts";
import { ApiError, invalidInput } from "#api/error.ts";
import {
  aboutCursor,
  type PermissionResponse,
  PermissionSlug,
  pageSize,
  RoleName,
} from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";

export type PermissionsParts = { database: Database; change: MakeChange };

/** Schemas shared by procedures of the namespace `permissions`. */
export const Description = text({ max: 512 }).describe(
  "A longer text for people, at most 512 characters; absent: none.",
);

export const PermissionRef = PermissionSlug.describe(
  "The id of the permission, `perm_…`, or its slug.",
);

export const RoleRef = RoleName.describe("The id of the role, `role_…`, or its name.");

export const PageInput = z.strictObject({
  limit: pageSize(100),
  cursor: text({ max: 1_024 }).describe(aboutCursor).optional(),
  search: text({ max: 256 })
    .describe("Part of the id, a name or the description, in whatever case; absent: all.")
    .optional(),
});

/** A page of a list: `pattern` for ILIKE, `cursor` the first id, "" for the beginning. */
export type ListQuery = { workspaceId: string; limit: number; cursor: string; pattern: string };

export type PermissionRow = { id: string; name: string; slug: string; description: string | null };

export const permissionColumns = "p.id, p.name, p.slug, p.description";

export function toPermission({ id, name, slug, description }: PermissionRow): PermissionResponse {
  return { id, name, slug, ...(description && { description }) };
}

/** The permission with this id, else with this slug, regardless of case. Throws the 404. */
export async function findPermission(
  database: Pool | ClientBase,
  workspaceId: string,
  idOrSlug: string,
): Promise<PermissionResponse> {
  const { rows } = await database.query<PermissionRow>(
    `SELECT ${permissionColumns} FROM permissions p
     WHERE p.workspace_id = $1 AND (p.id = $2 OR lower(p.slug) = lower($2))
     ORDER BY p.id = $2 DESC LIMIT 1`,
    [workspaceId, idOrSlug],
  );
  if (rows[0] === undefined) throw permissionNotFound(idOrSlug);
  return toPermission(rows[0]);
}

export function permissionNotFound(idOrSlug: string): ApiError {
  const detail = `Permission '${idOrSlug}' was not found.`;
  return new ApiError("unkey/data/permission_not_found", detail);
}

export function permissionCreated(id: string, slug: string): AuditEntry {
  return {
    event: "permission.create",
    description: `Created permission ${slug} (${id})`,
    targets: [{ type: "permission", id, name: slug }],
  };
}

const maxByRoles = 20_000;

/** Throws the 400 when the key, or one of the keys with the role, has more than `maxByRoles`. */
export async function refuseTooManyByRoles(
  { transaction }: Change,
  of: { keyId: string } | { roleId: string },
): Promise<void> {
  const keys =
    "keyId" in of ? "SELECT $1::text" : "SELECT key_id FROM key_roles WHERE role_id = $1";
  const { rowCount } = await transaction.query(
    `WITH held AS (SELECT key_id, role_id FROM key_roles WHERE key_id IN (${keys})),
       sizes AS (
         SELECT role_id, count(*) AS n FROM role_permissions
         WHERE role_id IN (SELECT role_id FROM held) GROUP BY role_id
       )
     SELECT 1 FROM held JOIN sizes USING (role_id) GROUP BY key_id HAVING sum(n) > $2 LIMIT 1`,
    ["keyId" in of ? of.keyId : of.roleId, maxByRoles],
  );
  if (rowCount === 0) return;
  throw invalidInput(`A key can have at most ${maxByRoles} permissions by its roles.`);
}

/** Above it, invalidating all keys of the workspace is cheaper than naming each. */
const maxNamedKeys = 1_000;

/** Finds the cached keys that a change of a role or a permission makes stale. */
export function staleKeys(workspaceId: string, keyIds: readonly string[]): Stale[] {
  return keyIds.length > maxNamedKeys
    ? [`workspace:${workspaceId}`]
    : keyIds.map((id): Stale => `key:${id}`);
}

/** The keys with a role: at most one more than `maxNamedKeys`. */
export async function keysWithRole(transaction: ClientBase, roleId: string): Promise<string[]> {
  return keyIds(transaction, "SELECT key_id FROM key_roles WHERE role_id = $1", roleId);
}

/** Finds keys that have the permission directly or by a role. */
export async function keysWithPermission(
  transaction: ClientBase,
  permissionId: string,
): Promise<string[]> {
  const query = `
    SELECT key_id FROM key_permissions WHERE permission_id = $1
    UNION
    SELECT kr.key_id FROM role_permissions rp JOIN key_roles kr ON kr.role_id = rp.role_id
    WHERE rp.permission_id = $1`;
  return keyIds(transaction, query, permissionId);
}

async function keyIds(transaction: ClientBase, query: string, id: string): Promise<string[]> {
  const limited = `${query} LIMIT ${maxNamedKeys + 1}`;
  const { rows } = await transaction.query<{ key_id: string }>(limited, [id]);
  return rows.map(({ key_id }) => key_id);
}
