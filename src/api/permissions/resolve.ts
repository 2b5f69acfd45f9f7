/** Permissions and roles by the names that callers use; both are case-insensitive. */
import type { Change } from "#api/changes/change.ts";
import { ApiError, invalidInput } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, demand } from "#api/procedure.ts";
import { type PermissionRow, permissionColumns, permissionCreated } from "./permission-store.ts";

type PermissionQuery = { slugs: readonly string[]; mayCreate: "always" | "withPermission" };

/** A limit where the contract sets none. */
const maxPermissions = 1_000;

/** Throws the 400; its sentence begins with `owner`, for example "A key". */
export function refuseTooMany(slugs: readonly string[], owner: string): void {
  if (slugs.length <= maxPermissions) return;
  throw invalidInput(`${owner} can be given at most ${maxPermissions} permissions at once.`);
}

/** Tries when permissions are deleted concurrently. */
const maxTries = 4;

/**
 * The permissions with these slugs, in the order of `slugs` and without duplicates. Missing ones are created;
 * with `mayCreate: "withPermission"` only if the caller has `rbac.*.create_permission` (else the 403). They
 * are locked against deletion until the change is committed.
 */
export async function ensurePermissions(
  change: Change,
  call: Call,
  { slugs, mayCreate }: PermissionQuery,
): Promise<PermissionRow[]> {
  const wanted = unique(slugs);
  if (wanted.length === 0) return [];
  for (let tries = 0; tries < maxTries; tries += 1) {
    const known = await findPermissions(change, call.workspaceId, wanted);
    const missing = wanted.filter((slug) => !known.has(slug.toLowerCase()));
    if (missing.length === 0) {
      return wanted.map((slug) => known.get(slug.toLowerCase()) as PermissionRow);
    }
    if (mayCreate === "withPermission") demand(call, "rbac.*.create_permission");
    await createPermissions(change, call.workspaceId, missing);
  }
  throw new Error("permissions are deleted as fast as they are created");
}

/** Permissions by their lower-case slug, locked against deletion until the change is committed. */
export async function findPermissions(
  { transaction }: Pick<Change, "transaction">,
  workspaceId: string,
  slugs: readonly string[],
): Promise<Map<string, PermissionRow>> {
  const { rows } = await transaction.query<PermissionRow>(
    `SELECT ${permissionColumns} FROM permissions p
     WHERE p.workspace_id = $1 AND lower(p.slug) = ANY($2)
     ORDER BY lower(p.slug) FOR KEY SHARE`,
    [workspaceId, slugs.map((slug) => slug.toLowerCase())],
  );
  return new Map(rows.map((row) => [row.slug.toLowerCase(), row]));
}

async function createPermissions(
  change: Change,
  workspaceId: string,
  slugs: readonly string[],
): Promise<void> {
  // A concurrent call may create the same ones, which are used then.
  const { rows } = await change.transaction.query<{ id: string; slug: string }>(
    `INSERT INTO permissions (id, workspace_id, name, slug)
     SELECT id, $1, slug, slug FROM unnest($2::text[], $3::text[]) AS new (id, slug)
     ORDER BY lower(slug)
     ON CONFLICT (workspace_id, lower(slug)) DO NOTHING RETURNING id, slug`,
    [workspaceId, slugs.map(() => newId("permission")), slugs],
  );
  for (const { id, slug } of rows) change.record(permissionCreated(id, slug));
}

/** The roles' ids by name; locked against deletion until the commit. Throws the 404 for the first unknown one. */
export async function findRoleIds(
  { transaction }: Pick<Change, "transaction">,
  workspaceId: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  // Postgres compares the names, as only it lowers the case as its index does.
  const { rows } = await transaction.query<{ id: string; wanted: string }>(
    `SELECT r.id, w.name AS wanted FROM unnest($2::text[]) AS w (name)
     JOIN roles r ON r.workspace_id = $1 AND lower(r.name) = lower(w.name)
     ORDER BY r.id FOR KEY SHARE OF r`,
    [workspaceId, names],
  );
  const ids = new Map(rows.map((row) => [row.wanted, row.id]));
  const unknown = names.find((name) => !ids.has(name));
  if (unknown === undefined) return ids;
  throw new ApiError("unkey/data/role_not_found", `Role '${unknown}' was not found.`);
}

/** Removes names that differ only in case; the first spelling stays. */
function unique(names: readonly string[]): string[] {
  return [
    ...new Map(names.toReversed().map((name) => [name.toLowerCase(), name])).values(),
  ].reverse();
}
