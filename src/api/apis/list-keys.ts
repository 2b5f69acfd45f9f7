import { z } from "zod";
import { allOf, anyOf, type Requirement, tuple } from "#api/access/grants.ts";
import { recordShown } from "#api/keys/recoverable/key-ring.ts";
import { Decrypt, exampleApiId, exampleStoredKey, KeyResponse } from "#api/keys/schemas.ts";
import {
  type ApiPlace,
  apiNotFound,
  findApi,
  onApi,
  requireRecoverable,
} from "#api/keys/store/key-access.ts";
import { describeKey, type KeyDetails, loadKeyDetails } from "#api/keys/store/key-details.ts";
import type { ApisParts } from "#api/parts.ts";
import { type Answer, type Call, demand, procedure } from "#api/procedure.ts";
import { aboutCursor, exampleIdentity, pageSize, toPage } from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";

const Input = z.strictObject({
  apiId: text({ min: 1 }).describe("The id of the API whose keys are listed, `api_…`."),
  limit: pageSize(100),
  cursor: text().describe(aboutCursor).optional(),
  externalId: text({ min: 1 })
    .describe("Your own id of a user or tenant: only its keys are listed. Absent: all keys.")
    .optional(),
  decrypt: Decrypt,
  // Nothing here is cached.
  revalidateKeysCache: z
    .boolean()
    .default(false)
    .describe("Changes nothing: the list is always read anew."),
});
type Input = z.infer<typeof Input>;

export function listKeys(parts: ApisParts) {
  return procedure({
    summary: "Lists the keys of an API by id, a page at a time.",
    input: Input,
    output: z.array(KeyResponse).describe("The keys of the page, by id."),
    example: {
      body: { apiId: exampleApiId, limit: 1, externalId: exampleIdentity.externalId },
      data: [exampleStoredKey],
      pagination: { hasMore: true, cursor: "key_jB5nXe3Gv8ZsMq6P" },
    },
    refusals: [404, 412],
    handle: (input, call) => readPage(parts, call, input),
  });
}

/** Throws the 404 for a caller without the permission, as if there were no such API. */
async function readPage(
  { change, database, keyRing }: ApisParts,
  call: Call,
  input: Input,
): Promise<Answer<KeyResponse[]>> {
  const api = await findApi(database, call, input.apiId);
  if (!call.grants.allow(mayList(api))) throw apiNotFound();
  if (input.decrypt) {
    demand(call, onApi(api, "decrypt_key"));
    requireRecoverable(api);
  }
  const { rows, pagination } = toPage(await readSizes(database, api, input), input.limit);
  const keys = await readKeys(
    database,
    rows.map(({ id }) => id),
  );
  const ring = input.decrypt ? keyRing : undefined;
  const data = keys.map((key) => describeKey(key, ring));
  await recordShown(change, call, data);
  return { data, pagination };
}

function mayList({ apiId, workspaceId, keySpaceId }: ApiPlace): Requirement {
  const urn = `unkey:v1:${workspaceId}:keyspaces/${keySpaceId}`;
  return anyOf(
    allOf(tuple("api", apiId, "read_key"), tuple("api", apiId, "read_api")),
    allOf(`${urn}/keys/*#read_key`, `${urn}#read_keyspace`),
  );
}

/** About the size of a key with its identity, permissions and roles, by their maximum lengths. */
const bytes = `coalesce(octet_length(k.meta::text), 0) + coalesce(octet_length(i.meta::text), 0)
  + 128 * (SELECT count(*) FROM key_permissions kp WHERE kp.key_id = k.id)
  + 512 * (SELECT count(*) FROM key_roles kr WHERE kr.key_id = k.id)
  + 128 * (SELECT count(*) FROM key_roles kr JOIN role_permissions rp ON rp.role_id = kr.role_id
           WHERE kr.key_id = k.id)`;

/** The ids of a page and of the first key of the next one; with `externalId` of that identity only. */
async function readSizes(
  database: Database,
  { keySpaceId }: ApiPlace,
  { cursor = "", limit, externalId }: Input,
): Promise<{ id: string; bytes: number }[]> {
  const { rows } = await database.query<{ id: string; bytes: number }>(
    `SELECT k.id, (${bytes})::float8 AS bytes
     FROM keys k LEFT JOIN identities i ON i.id = k.identity_id AND i.deleted_at IS NULL
     WHERE k.key_space_id = $1 AND k.deleted_at IS NULL AND k.id >= $2
       AND ($3::text IS NULL OR i.external_id = $3)
     ORDER BY k.id LIMIT $4`,
    [keySpaceId, cursor, externalId ?? null, limit + 1],
  );
  return rows;
}

/** A key that was deleted in between is left out. */
function readKeys(database: Database, ids: readonly string[]): Promise<KeyDetails[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return loadKeyDetails(database, "k.id = ANY($1) AND k.deleted_at IS NULL ORDER BY k.id", [ids]);
}
