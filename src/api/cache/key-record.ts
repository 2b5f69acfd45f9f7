/** The facts that decide if a key may be used: one row of one query. */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { z } from "zod";
import { RatelimitRule, rulesOf } from "#api/schemas/resources.ts";
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Stale } from "./invalidation.ts";

// Reads by name in groups: what is asked for while earlier groups are read is read together as the next one. Other than in
// `groups.ts`, which keeps an order, several are read at a time, and one that hangs does not hold back the next.

/** More groups are not read at once; further names then wait to join one. */
const maxGroups = 4;

/** The most names of one group: all of them wait for the slowest, and fail with it. */
const maxNames = 20;

/** A read no longer keeps others waiting after this: its connection may be dead, and others may be free. */
const usualSlowMs = 250;

/** `found`: what was read, by name. */
type Group<Found> = { names: Set<string>; found: Promise<ReadonlyMap<string, Found>> };

/**
 * Returns a function that reads one name, which is undefined when `readAll` left it out. Every read begins after it was
 * asked for, so that it sees all changes of before. `readAll` is given `maxNames` at most; when it throws, all of them
 * fail.
 */
export function createJointReads<Found>(
  readAll: (names: readonly string[]) => Promise<ReadonlyMap<string, Found>>,
  { slowMs = usualSlowMs }: { slowMs?: number } = {},
): (name: string) => Promise<Found | undefined> {
  const limit = pLimit(maxGroups);
  let next: Group<Found> | undefined;

  const createGroup = (): Group<Found> => {
    const names = new Set<string>();
    const { promise: found, resolve } = Promise.withResolvers<ReadonlyMap<string, Found>>();
    void limit(async () => {
      // Names asked for in the same turn of the event loop still join the group.
      await new Promise((joined) => setImmediate(joined));
      if (next?.names === names) next = undefined;
      const reading = (async () => readAll([...names]))();
      resolve(reading);
      await inTime<unknown>(() => reading, { limitMs: slowMs, otherwise: undefined });
    });
    return { names, found };
  };

  return async (name) => {
    if (next === undefined || next.names.size >= maxNames) next = createGroup();
    next.names.add(name);
    return (await next.found).get(name);
  };
}

/** Passes JSON as it was stored: zod's `record` would leave out a property called "__proto__". */
const Json = z.custom<Record<string, unknown>>((value) => typeof value === "object");

export const KeyRecord = z.object({
  id: z.string(),
  workspaceId: z.string(),
  keySpaceId: z.string(),
  forWorkspaceId: z.string().nullable(),
  /** Null for root keys, which belong to no API. */
  apiId: z.string().nullable(),
  isApiDeleted: z.boolean(),
  isWorkspaceEnabled: z.boolean(),
  /** State of the workspace that a root key acts on. */
  isForWorkspaceEnabled: z.boolean(),
  forWorkspaceLimitPerMinute: z.coerce.number().nullable(),
  name: z.string().nullable(),
  start: z.string(),
  isEnabled: z.boolean(),
  isDeleted: z.boolean(),
  expiresMs: z.coerce.number().nullable(),
  hasCredits: z.boolean(),
  meta: Json.nullable(),
  ipAllowlist: z.array(z.string()).nullable(),
  /** Direct and by roles, without duplicates, sorted. */
  permissions: z.array(z.string()),
  roles: z.array(z.string()),
  ratelimits: z.array(RatelimitRule),
  identity: z
    .object({
      id: z.string(),
      externalId: z.string(),
      meta: Json.nullable(),
      ratelimits: z.array(RatelimitRule),
    })
    .nullable(),
});
export type KeyRecord = z.infer<typeof KeyRecord>;

/** Hashes a key, as it is stored and looked up. */
export function hashKey(key: string): string {
  return hash("sha256", key, "base64");
}

/** Reads the key with a hash, even a deleted one; undefined: none. Ordinary keys that are asked for together share a query. */
export function createLoadKeyRecord(
  database: Database,
): (keyHash: string) => Promise<KeyRecord | undefined> {
  const readTogether = createJointReads(async (hashes) => {
    const [first = "", ...others] = hashes;
    if (others.length > 0) return readOrdinary(database, hashes);
    return new Map([[first, await readAlone(database, first)]]);
  });
  return async (keyHash) => {
    const known = await readTogether(keyHash);
    const row = known === undefined ? await readAlone(database, keyHash) : known;
    return row === null ? undefined : slim(KeyRecord.parse(row));
  };
}

/** null: there is no such key. */
async function readAlone(database: Database, keyHash: string): Promise<object | null> {
  const { rows } = await database.query<object>({
    name: "load-key-record",
    text: `SELECT ${keyColumns} ${keyTables} WHERE k.hash = $1`,
    values: [keyHash],
  });
  return rows[0] ?? null;
}

/** Leaves out those that do not exist, and those that are not ordinary: many of them at once would fill the memory. */
async function readOrdinary(
  database: Database,
  hashes: readonly string[],
): Promise<Map<string, object>> {
  const { rows } = await database.query<{ hash: string }>({
    name: "load-ordinary-key-records",
    text: `SELECT k.hash, ${keyColumns} ${keyTables} WHERE k.hash = ANY($1) AND ${isOrdinary}`,
    values: [hashesForOnePlan(hashes)],
  });
  return new Map(rows.map((row) => [row.hash, row]));
}

/** Always as many: Postgres would plan the query anew for a few, each time, which takes longer than to run it. */
function hashesForOnePlan(hashes: readonly string[]): readonly string[] {
  return [...hashes, ...Array(Math.max(0, maxNames - hashes.length)).fill(hashes[0])];
}

/** A process caches up to a million records: values that many of them share are in memory once. */
function slim(record: KeyRecord): KeyRecord {
  const { workspaceId, keySpaceId, apiId, permissions, roles, ratelimits } = record;
  return {
    ...record,
    workspaceId: shared(workspaceId),
    keySpaceId: shared(keySpaceId),
    apiId: apiId === null ? null : shared(apiId),
    permissions: permissions.length === 0 ? none : permissions,
    roles: roles.length === 0 ? none : roles,
    ratelimits: ratelimits.length === 0 ? none : ratelimits,
  };
}

const none: never[] = [];
Object.freeze(none);

const sharedTexts = new LRUCache<string, string>({ max: 10_000 });

function shared(text: string): string {
  const known = sharedTexts.get(text);
  if (known === undefined) sharedTexts.set(text, text);
  return known ?? text;
}

/** Lists the changes that make a cached key stale. */
export function tagsOfKey(record: KeyRecord): Stale[] {
  const tags: Stale[] = [
    `key:${record.id}`,
    `keySpace:${record.keySpaceId}`,
    `workspace:${record.workspaceId}`,
  ];
  if (record.forWorkspaceId !== null) tags.push(`workspace:${record.forWorkspaceId}`);
  if (record.identity !== null) tags.push(`identity:${record.identity.id}`);
  return tags;
}

export const keyColumns = `k.id, k.workspace_id AS "workspaceId", k.key_space_id AS "keySpaceId",
  k.for_workspace_id AS "forWorkspaceId", a.id AS "apiId",
  a.deleted_at IS NOT NULL AS "isApiDeleted",
  w.enabled AS "isWorkspaceEnabled",
  coalesce(f.enabled, true) AS "isForWorkspaceEnabled",
  f.api_requests_per_minute AS "forWorkspaceLimitPerMinute",
  k.name, k.start, k.enabled AS "isEnabled", k.deleted_at IS NOT NULL AS "isDeleted",
  extract(epoch FROM k.expires_at) * 1000 AS "expiresMs",
  k.remaining IS NOT NULL AS "hasCredits", k.meta, a.ip_allowlist AS "ipAllowlist",
  ARRAY(
    SELECT p.slug FROM key_permissions kp JOIN permissions p ON p.id = kp.permission_id
    WHERE kp.key_id = k.id
    UNION
    SELECT p.slug FROM key_roles kr
    JOIN role_permissions rp ON rp.role_id = kr.role_id
    JOIN permissions p ON p.id = rp.permission_id WHERE kr.key_id = k.id
    ORDER BY 1
  ) AS permissions,
  ARRAY(
    SELECT r.name FROM key_roles kr JOIN roles r ON r.id = kr.role_id
    WHERE kr.key_id = k.id ORDER BY 1
  ) AS roles,
  ${rulesOf("r.key_id = k.id")} AS ratelimits,
  CASE WHEN i.id IS NULL THEN NULL ELSE jsonb_build_object('id', i.id,
    'externalId', i.external_id, 'meta', i.meta,
    'ratelimits', ${rulesOf("r.identity_id = i.id")}) END AS identity`;

export const keyTables = `
FROM keys k
JOIN workspaces w ON w.id = k.workspace_id
LEFT JOIN workspaces f ON f.id = k.for_workspace_id
LEFT JOIN apis a ON a.key_space_id = k.key_space_id
LEFT JOIN identities i ON i.id = k.identity_id AND i.deleted_at IS NULL`;

/** Limits of records that are read together: bytes of JSON, permissions, roles with their permissions. */
const ordinary = { meta: 2_000, permissions: 100, roles: 100 };

/** First by the size that it has on the disk, where it may be compressed: most of those too long are not read for it. */
const isShort = (column: string) => `(${column} IS NULL
  OR pg_column_size(${column}) <= ${ordinary.meta} AND octet_length(${column}::text) <= ${ordinary.meta})`;

const isOrdinary = `${isShort("k.meta")} AND ${isShort("i.meta")}
  AND NOT EXISTS (
    SELECT FROM key_permissions kp WHERE kp.key_id = k.id OFFSET ${ordinary.permissions}
  )
  AND NOT EXISTS (
    SELECT FROM key_roles kr LEFT JOIN role_permissions rp ON rp.role_id = kr.role_id
    WHERE kr.key_id = k.id OFFSET ${ordinary.roles}
  )`;

const bytesPerKey = 620;
const mostKeys = 1_000_000;

/** Returns as many keys as a third of the heap holds: a small machine must not run out of memory for a cache. */
export function cachedKeysOf(heapLimitBytes: number): number {
  return Math.min(mostKeys, Math.floor(heapLimitBytes / 3 / bytesPerKey));
}

/** Up to so many characters of JSON, a key's attributes are included in `bytesPerKey`. */
const ordinaryLength = 500;

/** Bytes in memory for each character of JSON: for `[{},{}]` about 20, for strings 2. */
const bytesOfMeta = 16;
const bytesOfRest = 4;

/** Returns how many ordinary keys a key counts as: a few with large metadata would exceed the cache's memory. */
export function weightOfKey({ meta, identity, permissions, roles, ratelimits }: KeyRecord): number {
  const rest = JSON.stringify([permissions, roles, ratelimits, identity?.ratelimits]).length;
  const metas = JSON.stringify([meta, identity?.meta]).length;
  if (rest + metas <= ordinaryLength) return 1;
  return Math.ceil((metas * bytesOfMeta + rest * bytesOfRest) / bytesPerKey);
}
