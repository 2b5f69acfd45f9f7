/** The table `permissions`. */
import type { ClientBase, Pool } from "pg";
import type { AuditEntry } from "#api/changes/audit.ts";
import { ApiError } from "#api/error.ts";
import type { PermissionResponse } from "#api/schemas/resources.ts";

export type PermissionRow = { id: string; name: string; slug: string; description: string | null };

/** The columns that `toPermission` reads; `p` is the table. */
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

/** The audit entry of a new permission. */
export function permissionCreated(id: string, slug: string): AuditEntry {
  return {
    event: "permission.create",
    description: `Created permission ${slug} (${id})`,
    targets: [{ type: "permission", id, name: slug }],
  };
}
