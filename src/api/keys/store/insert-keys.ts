/** Inserts new keys with their permissions, roles, limits and identities. */
import type { Change } from "#api/changes/change.ts";
import { replaceRatelimits } from "#api/changes/owned-ratelimits.ts";
import { invalidInput } from "#api/error.ts";
import { ensureIdentities } from "#api/identities/identity-store.ts";
import { newId } from "#api/ids.ts";
import type { NewKey, Refill } from "#api/keys/schemas.ts";
import { checkMetaSize } from "#api/schemas/resources.ts";
import { toBigint } from "#api/schemas/schema.ts";
import { addLinks } from "./links.ts";

// Rules of credits and refills that no schema can express.

/** The columns of a refill. Throws the 400 when day and interval do not match. */
export function refillColumns(refill: Refill | null | undefined): {
  refillAmount: number | null;
  refillDay: number | null;
} {
  if (refill === null || refill === undefined) return { refillAmount: null, refillDay: null };
  const { interval, amount, refillDay } = refill;
  if (interval === "monthly" && refillDay === undefined) {
    throw invalidInput(
      "`credits.refill.refillDay` must be provided when the interval is `monthly`.",
    );
  }
  if (interval === "daily" && refillDay !== undefined) {
    throw invalidInput(
      "`credits.refill.refillDay` must not be given when the interval is `daily`.",
    );
  }
  return { refillAmount: amount, refillDay: refillDay ?? null };
}

/** Checks the credits of a new key: a refill needs limited credits. Throws the 400. */
function requireRemaining(credits: {
  remaining: number | null;
  refill?: Refill | undefined;
}): void {
  if (credits.refill !== undefined && credits.remaining === null) {
    throw invalidInput("`credits.remaining` must be provided when `credits.refill` is set.");
  }
}

export type KeyToInsert = Omit<NewKey, "roles" | "permissions"> & {
  hash: string;
  start: string;
  roleIds: readonly string[];
  permissionIds: readonly string[];
  /** Set for a migrated key, until its first use. */
  pendingMigrationId?: string;
};

type KeyPlace = { workspaceId: string; keySpaceId: string };

/** Returns the new ids by hash; a hash that exists already is left out. */
export async function insertKeys(
  change: Change,
  place: KeyPlace,
  keys: readonly KeyToInsert[],
): Promise<Map<string, string>> {
  for (const { credits, meta } of keys) {
    if (credits !== undefined) requireRemaining(credits);
    if (meta !== undefined) checkMetaSize(meta);
  }
  const externalIds = keys.flatMap(({ externalId }) => externalId ?? []);
  const identities = await ensureIdentities(change, place.workspaceId, externalIds);
  const rows = keys.map((key) => toRow(key, identities));
  const { rows: inserted } = await change.transaction.query<{ id: string; hash: string }>(
    insertQuery,
    [place.workspaceId, place.keySpaceId, JSON.stringify(rows)],
  );
  const ids = new Map(inserted.map(({ id, hash }) => [hash, id]));
  for (const key of keys) {
    const id = ids.get(key.hash);
    if (id !== undefined) await attach(change, place, { id, key });
  }
  // Some process may have cached one of them as a miss.
  if (ids.size > 0) change.stale(`new:${place.keySpaceId}`);
  return ids;
}

function toRow(key: KeyToInsert, identities: Map<string, string>) {
  const { refillAmount, refillDay } = refillColumns(key.credits?.refill);
  const remaining = key.credits?.remaining ?? null;
  return {
    id: newId("key"),
    hash: key.hash,
    start: key.start,
    name: key.name ?? null,
    identity_id: key.externalId === undefined ? null : identities.get(key.externalId),
    meta: key.meta ?? null,
    enabled: key.enabled,
    expires_ms: key.expires ?? null,
    remaining: remaining === null ? null : toBigint(remaining),
    refill_amount: refillAmount === null ? null : toBigint(refillAmount),
    refill_day: refillDay,
    pending_migration_id: key.pendingMigrationId ?? null,
  };
}

const insertQuery = `
INSERT INTO keys (id, workspace_id, key_space_id, hash, start, name, identity_id, meta, enabled,
  expires_at, remaining, refill_amount, refill_day, pending_migration_id)
SELECT id, $1, $2, hash, start, name, identity_id, meta, enabled,
  to_timestamp(expires_ms / 1000), remaining, refill_amount, refill_day, pending_migration_id
FROM jsonb_to_recordset($3::jsonb) AS new (id text, hash text, start text, name text,
  identity_id text, meta jsonb, enabled boolean, expires_ms double precision, remaining bigint,
  refill_amount bigint, refill_day integer, pending_migration_id text)
ORDER BY hash
ON CONFLICT (hash) DO NOTHING
RETURNING id, hash`;

async function attach(
  change: Change,
  place: KeyPlace,
  { id, key }: { id: string; key: KeyToInsert },
): Promise<void> {
  await addLinks(change, { keyId: id, kind: "permission", ids: key.permissionIds });
  await addLinks(change, { keyId: id, kind: "role", ids: key.roleIds });
  const owner = { workspaceId: place.workspaceId, column: "key_id" as const, id };
  if (key.ratelimits !== undefined) await replaceRatelimits(change, owner, key.ratelimits);
  change.record({
    event: "key.create",
    description: `Created key ${id}`,
    targets: [{ type: "key", id, ...(key.name !== undefined && { name: key.name }) }],
  });
}
