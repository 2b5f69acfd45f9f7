/** Root keys, with which the operator and other programs call the API. */
import type { PoolClient } from "pg";
import { announce } from "#api/cache/invalidation.ts";
import { hashKey } from "#api/cache/key-record.ts";
import { newId } from "#api/ids.ts";

/** The workspace that an installation begins with. */
export const defaultWorkspaceId = "ws_default";

/** Place of root keys and their permissions. */
const operator = { workspaceId: "ws_operator", keySpaceId: "ks_root" };

/**
 * Origin of a root key: `setting` is `api.root_key`, `generated` was created at a first start, `sentinels` is the
 * one with which gateways of the local fleet verify keys, `checks` the one with which checks call the API,
 * `replaced` was one of these until another replaced it. Null: an operator created it.
 */
export type Origin = "setting" | "generated" | "sentinels" | "checks" | "replaced";

export type RootKey = {
  key: string;
  forWorkspaceId: string;
  name: string;
  /** `*` allows everything. */
  permissions: readonly string[];
  expiresAt?: Date;
  origin?: Origin;
};

/** Returns the new key's id; undefined: it exists. After the commit every process accepts it, even if cached as a miss. */
export async function insertRootKey(
  transaction: PoolClient,
  rootKey: RootKey,
): Promise<string | undefined> {
  const { rows } = await transaction.query<{ id: string }>(
    `INSERT INTO keys (id, workspace_id, key_space_id, for_workspace_id, hash, start, name, expires_at,
       origin)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO NOTHING RETURNING id`,
    [
      newId("key"),
      operator.workspaceId,
      operator.keySpaceId,
      rootKey.forWorkspaceId,
      hashKey(rootKey.key),
      rootKey.key.slice(0, startLength(rootKey.key)),
      rootKey.name,
      rootKey.expiresAt ?? null,
      rootKey.origin ?? null,
    ],
  );
  const id = rows[0]?.id;
  if (id === undefined) return undefined;
  await grant(transaction, id, rootKey.permissions);
  await announce(transaction, [`key:${id}`]);
  return id;
}

/** Returns how many first characters a list shows: at most a third of a short key that a person chose. */
function startLength(key: string): number {
  return Math.min(17, Math.floor(key.length / 3));
}

/** Permissions are unique regardless of case, but a permission matches only in its own case. */
async function grant(
  transaction: PoolClient,
  keyId: string,
  permissions: readonly string[],
): Promise<void> {
  const ids = permissions.map(() => newId("permission"));
  await transaction.query(insertPermissions, [operator.workspaceId, ids, permissions]);
  const { rows } = await transaction.query<{ slug: string }>(
    `WITH granted AS (
       INSERT INTO key_permissions (key_id, permission_id)
       SELECT $1, id FROM permissions WHERE workspace_id = $2 AND slug = ANY ($3)
       RETURNING permission_id
     )
     SELECT slug FROM permissions JOIN granted ON permission_id = id`,
    [keyId, operator.workspaceId, permissions],
  );
  const granted = new Set(rows.map(({ slug }) => slug));
  const missing = permissions.find((permission) => !granted.has(permission));
  if (missing === undefined) return;
  throw new Error(
    `a root key has ${missing} with other upper and lower case letters: if that one is wrong, revoke it ` +
      "first (see vedette root-keys list)",
  );
}

/** Corrects the case of an existing permission, unless a key in force has it. */
const insertPermissions = `
INSERT INTO permissions AS old (id, workspace_id, name, slug)
SELECT DISTINCT ON (lower(slug)) id, $1, slug, slug
FROM unnest($2::text[], $3::text[]) AS new (id, slug) ORDER BY lower(slug), slug
ON CONFLICT (workspace_id, lower(slug)) DO UPDATE SET name = excluded.name, slug = excluded.slug
WHERE old.slug <> excluded.slug AND NOT EXISTS (
  SELECT FROM key_permissions kp JOIN keys k ON k.id = kp.key_id
  WHERE kp.permission_id = old.id AND k.deleted_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > now())
)`;

/** Ends a root key after `graceSeconds` (0: at once), or when it expires; all refuse it a second later. Returns when. */
export async function replaceRootKey(
  transaction: PoolClient,
  { id, graceSeconds }: { id: string; graceSeconds: number },
): Promise<Date> {
  const { rows } = await transaction.query<{ ends: Date }>(
    `UPDATE keys SET origin = 'replaced', updated_at = now(),
       expires_at = least(expires_at, now() + make_interval(secs => $2)),
       deleted_at = CASE WHEN $2 = 0 THEN now() ELSE deleted_at END
     WHERE id = $1 RETURNING expires_at AS ends`,
    [id, graceSeconds],
  );
  await announce(transaction, [`key:${id}`]);
  return (rows[0] as { ends: Date }).ends;
}
