/** The table `permissions`, as it is answered. */
import type { ClientBase, Pool } from "pg";
import { ApiError } from "#api/error.ts";
import type { PermissionResponse } from "#api/schemas/schema.ts";

/** A page of a list: `pattern` for ILIKE, `cursor` the first id, "" for the beginning. */
export type ListQuery = { workspaceId: string; limit: number; cursor: string; pattern: string };

export type PermissionRow = { id: string; name: string; slug: string; description: string | null };

/** The columns that `toPermission` reads; `p` is the table. */
export const permissionColumns = "p.id, p.name, p.slug, p.description";

export function toPermission({ id, name, slug, description }: PermissionRow): PermissionResponse {
  return { id, name, slug, ...(description && { description }) };
}

/** The permission of this id, else of this slug, whatever its case. Throws the 404. */
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

/** A page and the first row of the next one. */
export async function listPermissions(
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
