/** A key with everything that procedures show of it. */
import type { ClientBase } from "pg";
import { z } from "zod";
import { KeyRecord, keyColumns, keyTables } from "#api/cache/key-record.ts";
import { describeIdentity } from "#api/identities/identity-store.ts";
import type { KeyRing } from "#api/keys/recoverable/key-ring.ts";
import type { CreditsResponse, KeyResponse } from "#api/keys/schemas.ts";
import { describeRules } from "#api/schemas/resources.ts";
import { present } from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";

const KeyDetails = KeyRecord.extend({
  hash: z.string(),
  identityId: z.string().nullable(),
  createdMs: z.coerce.number(),
  updatedMs: z.coerce.number().nullable(),
  lastUsedMs: z.coerce.number().nullable(),
  remaining: z.coerce.number().nullable(),
  refillAmount: z.coerce.number().nullable(),
  refillDay: z.number().nullable(),
  storesEncryptedKeys: z.boolean(),
  defaultPrefix: z.string().nullable(),
  defaultBytes: z.number().nullable(),
  encryptionKeyId: z.string().nullable(),
  sealed: z.instanceof(Buffer).nullable(),
});
export type KeyDetails = z.infer<typeof KeyDetails>;

const detailsQuery = `
SELECT ${keyColumns}, k.hash, k.identity_id AS "identityId",
  extract(epoch FROM k.created_at) * 1000 AS "createdMs",
  extract(epoch FROM k.updated_at) * 1000 AS "updatedMs",
  extract(epoch FROM k.last_used_at) * 1000 AS "lastUsedMs",
  k.remaining, k.refill_amount AS "refillAmount", k.refill_day AS "refillDay",
  s.store_encrypted_keys AS "storesEncryptedKeys", s.default_prefix AS "defaultPrefix",
  s.default_bytes AS "defaultBytes", e.encryption_key_id AS "encryptionKeyId", e.sealed
${keyTables}
JOIN key_spaces s ON s.id = k.key_space_id
LEFT JOIN encrypted_keys e ON e.key_id = k.id`;

/** Keys for which `where` holds (over `k`, with `values`; ORDER BY and LIMIT may follow); deleted ones too. */
export async function loadKeyDetails(
  connection: Database | ClientBase,
  where: string,
  values: unknown[],
): Promise<KeyDetails[]> {
  const { rows } = await connection.query(`${detailsQuery} WHERE ${where}`, values);
  return rows.map((row) => KeyDetails.parse(row));
}

/** Describes a key as procedures answer it; `plaintext` only with a ring, and only if the ring opens it. */
export function describeKey(key: KeyDetails, ring?: KeyRing): KeyResponse {
  return {
    keyId: key.id,
    start: key.start,
    enabled: key.isEnabled,
    name: key.name ?? undefined,
    meta: present(key.meta),
    createdAt: wholeMs(key.createdMs) ?? 0,
    updatedAt: wholeMs(key.updatedMs),
    lastUsedAt: wholeMs(key.lastUsedMs),
    expires: wholeMs(key.expiresMs),
    permissions: key.permissions.length === 0 ? undefined : key.permissions,
    roles: key.roles.length === 0 ? undefined : key.roles,
    credits: describeCredits(key),
    identity: key.identity === null ? undefined : describeIdentity(key.identity),
    plaintext: ring === undefined ? undefined : openKey(key, ring),
    ratelimits: describeRules(key.ratelimits),
  };
}

/** Undefined for a key with unlimited credits and no refill. */
export function describeCredits(
  key: Pick<KeyDetails, "remaining" | "refillAmount" | "refillDay">,
): CreditsResponse | undefined {
  const { remaining, refillAmount, refillDay } = key;
  if (remaining === null && refillAmount === null) return undefined;
  if (refillAmount === null) return { remaining };
  const refill =
    refillDay === null
      ? { interval: "daily" as const, amount: refillAmount }
      : { interval: "monthly" as const, amount: refillAmount, refillDay };
  return { remaining, refill };
}

function openKey(key: KeyDetails, ring: KeyRing): string | undefined {
  const { encryptionKeyId, sealed } = key;
  if (encryptionKeyId === null || sealed === null) return undefined;
  return ring.tryOpen({ encryptionKeyId, sealed }, key.id);
}

/** Whole milliseconds of Postgres' microseconds; undefined for 0 and null. */
function wholeMs(ms: number | null): number | undefined {
  return ms === null || ms === 0 ? undefined : Math.floor(ms);
}
