/** The namespace `apis`: APIs, to which keys belong. */
import { z } from "zod";
import { allOf, anyOf, type Requirement, tuple } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
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
import { type Answer, type Call, demand, type Procedures, procedure } from "#api/procedure.ts";
import {
  ApiId,
  aboutCursor,
  Empty,
  exampleIdentity,
  pageSize,
  toPage,
} from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";

export function apisProcedures(parts: ApisParts): Procedures {
  return {
    createApi: createApi(parts),
    getApi: getApi(parts),
    listKeys: listKeys(parts),
    deleteApi: deleteApi(parts),
  };
}

function getApi({ database }: ApisParts) {
  return procedure({
    summary: "Returns an API by its id.",
    input: z.strictObject({ apiId: ApiId }),
    output: z.object({
      id: z.string().describe("The id of the API, `api_…`."),
      name: z.string().describe("Its name, for people."),
    }),
    example: { body: { apiId: exampleApiId }, data: { id: exampleApiId, name: "payments" } },
    permission: ({ apiId }) => tuple("api", apiId, "read_api"),
    refusals: [404],
    handle: async ({ apiId }, call) => {
      const { name } = await findApi(database, call, apiId);
      return { data: { id: apiId, name } };
    },
  });
}

const ListInput = z.strictObject({
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
type ListInput = z.infer<typeof ListInput>;

function listKeys(parts: ApisParts) {
  return procedure({
    summary: "Lists the keys of an API by id, a page at a time.",
    input: ListInput,
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
  input: ListInput,
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
  { cursor = "", limit, externalId }: ListInput,
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

function createApi({ change }: ApisParts) {
  return procedure({
    summary: "Creates an API, to which keys can be added.",
    input: z.strictObject({
      name: text({ min: 3, max: 256 }).describe(
        "A name for people, 3 to 256 characters. Names need not be unique.",
      ),
    }),
    output: z.object({
      apiId: z.string().describe("The id of the new API, `api_…`: keys are created with it."),
    }),
    example: { body: { name: "payments" }, data: { apiId: exampleApiId } },
    permission: () => "api.*.create_api",
    handle: async ({ name }, call) => ({
      data: { apiId: await change(call, (made) => insertApi(made, call, name)) },
    }),
  });
}

/** Returns the new API's id. Names need not be unique. */
async function insertApi(
  { transaction, record }: Change,
  { workspaceId }: Call,
  name: string,
): Promise<string> {
  const id = newId("api");
  const keySpaceId = newId("keySpace");
  await transaction.query("INSERT INTO key_spaces (id, workspace_id) VALUES ($1, $2)", [
    keySpaceId,
    workspaceId,
  ]);
  await transaction.query(
    "INSERT INTO apis (id, workspace_id, key_space_id, name) VALUES ($1, $2, $3, $4)",
    [id, workspaceId, keySpaceId, name],
  );
  record({
    event: "api.create",
    description: `Created API ${name} (${id})`,
    targets: [{ type: "api", id, name }],
  });
  return id;
}

function deleteApi({ change }: ApisParts) {
  return procedure({
    summary: "Deletes an API; its keys are not valid any more.",
    input: z.strictObject({ apiId: ApiId }),
    output: Empty,
    example: { body: { apiId: exampleApiId }, data: {} },
    permission: ({ apiId }) => tuple("api", apiId, "delete_api"),
    refusals: [404, 412],
    handle: async ({ apiId }, call) => {
      await change(call, (made) => markDeleted(made, call, apiId));
      return { data: {} };
    },
  });
}

type LockedApi = { name: string; keySpaceId: string; isProtected: boolean };

/** No process accepts its keys afterwards. Throws the 404, and the 412 of a protected API. */
async function markDeleted(
  { transaction, record, stale }: Change,
  { workspaceId }: Call,
  id: string,
): Promise<void> {
  const { rows } = await transaction.query<LockedApi>(
    `SELECT name, key_space_id AS "keySpaceId", delete_protection AS "isProtected" FROM apis
     WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE`,
    [workspaceId, id],
  );
  const api = rows[0];
  if (api === undefined) throw apiNotFound();
  if (api.isProtected) {
    const detail = "This API has delete protection turned on. Turn it off to delete the API.";
    throw new ApiError("unkey/application/protected_resource", detail);
  }
  await transaction.query("UPDATE apis SET deleted_at = now() WHERE id = $1", [id]);
  record({
    event: "api.delete",
    description: `Deleted API ${api.name} (${id})`,
    targets: [{ type: "api", id, name: api.name }],
  });
  stale(`keySpace:${api.keySpaceId}`);
}
