/** Permissions by slug, made where they are missing: roles and keys are given them so. */
import type { Change } from "#api/change.ts";
import { invalidInput } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, demand } from "#api/procedure.ts";
import { permissionCreated } from "./permission-changes.ts";
import { type PermissionRow, permissionColumns } from "./permission-store.ts";

/** The contract sets no number for a role; more than this is no list that anyone means. */
const maxPermissions = 1_000;

/** One try more than a permission that is deleted while it is asked for may cost. */
const maxTries = 4;

/**
 * The permissions of these slugs, ordered by slug, each once: a slug that differs from another only
 * in case is the same. They cannot be deleted before the change is committed. Throws the 403 when
 * some are missing and the caller may not create permissions, the 400 when there are too many.
 */
export async function ensurePermissions(
  change: Change,
  call: Call,
  slugs: readonly string[],
): Promise<PermissionRow[]> {
  const wanted = distinct(slugs);
  if (wanted.length > maxPermissions) {
    throw invalidInput(`At most ${maxPermissions} permissions can be given at once.`);
  }
  if (wanted.length === 0) return [];
  for (let tries = 0; tries < maxTries; tries += 1) {
    const found = await lockBySlug(change, call, wanted);
    const known = new Set(found.map(({ slug }) => slug.toLowerCase()));
    const missing = wanted.filter((slug) => !known.has(slug.toLowerCase()));
    if (missing.length === 0) return found;
    demand(call, "rbac.*.create_permission");
    await insertMissing(change, call, missing);
  }
  throw new Error("permissions are deleted as fast as they are created");
}

/** Without what differs only in case; slugs are ASCII. Ordered, so that two calls lock alike. */
function distinct(slugs: readonly string[]): string[] {
  const first = new Map<string, string>();
  for (const slug of slugs) {
    const key = slug.toLowerCase();
    if (!first.has(key)) first.set(key, slug);
  }
  return [...first.keys()].sort().map((key) => first.get(key) as string);
}

async function lockBySlug({ transaction }: Change, call: Call, slugs: readonly string[]) {
  const { rows } = await transaction.query<PermissionRow>(
    `SELECT ${permissionColumns} FROM permissions p
     WHERE p.workspace_id = $1 AND lower(p.slug) = ANY ($2)
     ORDER BY lower(p.slug) FOR KEY SHARE`,
    [call.workspaceId, slugs.map((slug) => slug.toLowerCase())],
  );
  return rows;
}

async function insertMissing(change: Change, call: Call, slugs: readonly string[]) {
  const { rows } = await change.transaction.query<{ id: string; slug: string }>(
    `INSERT INTO permissions (id, workspace_id, name, slug)
     SELECT id, $1, slug, slug FROM unnest($2::text[], $3::text[]) AS missing (id, slug)
     ORDER BY lower(slug)
     ON CONFLICT (workspace_id, lower(slug)) DO NOTHING RETURNING id, slug`,
    [call.workspaceId, slugs.map(() => newId("permission")), slugs],
  );
  for (const { id, slug } of rows) change.record(permissionCreated(id, slug));
}
