import { randomBytes } from "node:crypto";
import bs58 from "bs58";
import { z } from "zod";
import { allOf } from "#api/access/grants.ts";
import { hashKey } from "#api/cache/key-record.ts";
import type { Change } from "#api/changes/change.ts";
import { storeSealed } from "#api/keys/recoverable/key-ring.ts";
import { insertKeys, type KeyToInsert } from "#api/keys/store/insert-keys.ts";
import {
  type ApiPlace,
  apiNotFound,
  findApi,
  onApi,
  requireRecoverable,
} from "#api/keys/store/key-access.ts";
import { ensurePermissions, findRoleIds } from "#api/permissions/resolve.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { ExternalId, exampleIdentity, exampleLimit, KeyId } from "#api/schemas/resources.ts";
import { patterned, whole } from "#api/schemas/schema.ts";
import type { KeyParts } from "./parts.ts";
import {
  exampleApiId,
  exampleKey,
  exampleKeyId,
  exampleRefill,
  exampleStoredKey,
  keyOwner,
  NewKeyOutput,
  newKeyFields,
} from "./schemas.ts";

const CreateInput = z.strictObject({
  apiId: KeyId.describe("The id of the API that the key is for, `api_…`."),
  prefix: patterned(/^[a-zA-Z0-9_]+$/, { min: 1, max: 16 })
    .describe(
      "What the key begins with, before a `_`; absent: the prefix of the API, if it has one.",
    )
    .optional(),
  byteLength: whole({ min: 16, max: 255 })
    .describe(
      "How many random bytes the key is made of, 16 to 255; absent: as the API has it, or 16.",
    )
    .optional(),
  externalId: ExternalId.describe(keyOwner).optional(),
  ...newKeyFields,
  recoverable: z
    .boolean()
    .default(false)
    .describe(
      "Whether the key is also stored encrypted, so that `decrypt` can show it again. The API must allow it.",
    ),
});
type CreateInput = z.infer<typeof CreateInput>;

export function createKey({ change, database, keyRing }: KeyParts) {
  return procedure({
    summary: "Creates a key. It is in the answer and never shown again, unless it is recoverable.",
    input: CreateInput,
    output: NewKeyOutput,
    example: {
      body: {
        apiId: exampleApiId,
        prefix: "pay",
        name: exampleStoredKey.name,
        externalId: exampleIdentity.externalId,
        meta: exampleStoredKey.meta,
        roles: exampleStoredKey.roles,
        expires: exampleStoredKey.expires,
        credits: { remaining: 1_000, refill: exampleRefill },
        ratelimits: [exampleLimit],
      },
      data: { keyId: exampleKeyId, key: exampleKey },
    },
    refusals: [404, 412],
    handle: async (input, call) => {
      const api = await findApi(database, call, input.apiId);
      requireMayCreate(call, api, input.recoverable);
      if (input.recoverable) requireRecoverable(api);
      const material = newKeyMaterial({
        prefix: input.prefix ?? api.defaultPrefix ?? undefined,
        bytes: input.byteLength ?? api.defaultBytes ?? defaultBytes,
      });
      const keyId = await change(call, async (made) => {
        const key = await toInsert(made, call, { input, material });
        const ids = await insertKeys(made, api, [key]);
        const id = ids.get(material.hash) as string;
        if (input.recoverable) await storeSealed(made, call, { id, key: material.key, keyRing });
        return id;
      });
      return { data: { keyId, key: material.key } };
    },
  });
}

/** Throws the 404 for a caller without the permission, as if there were no such API. */
function requireMayCreate(call: Call, api: ApiPlace, isRecoverable: boolean): void {
  const create = onApi(api, "create_key");
  const requirement = isRecoverable ? allOf(create, onApi(api, "encrypt_key")) : create;
  if (!call.grants.allow(requirement)) throw apiNotFound();
}

async function toInsert(
  change: Change,
  call: Call,
  { input, material }: { input: CreateInput; material: KeyMaterial },
): Promise<KeyToInsert> {
  const { roles = [], permissions: slugs = [], ...fields } = input;
  const permissions = await ensurePermissions(change, call, { slugs, mayCreate: "always" });
  return {
    ...fields,
    hash: material.hash,
    start: material.start,
    roleIds: [...(await findRoleIds(change, call.workspaceId, roles)).values()],
    permissionIds: permissions.map(({ id }) => id),
  };
}

type KeyMaterial = {
  /** The key itself: shown once, never stored in clear text. */
  key: string;
  hash: string;
  /** People recognize the key by its prefix and first four characters. */
  start: string;
};

export const defaultBytes = 16;

/** Makes a new key of random bytes in base58, behind a prefix. */
export function newKeyMaterial(of: { prefix: string | undefined; bytes: number }): KeyMaterial {
  const secret = bs58.encode(randomBytes(of.bytes));
  const prefix = of.prefix === undefined || of.prefix === "" ? "" : `${of.prefix}_`;
  const key = `${prefix}${secret}`;
  return { key, hash: hashKey(key), start: `${prefix}${secret.slice(0, 4)}` };
}

/** The prefix in `start`, which may itself contain underscores. */
export function prefixOf(start: string): string | undefined {
  const end = start.lastIndexOf("_");
  return end > 0 ? start.slice(0, end) : undefined;
}
