/** Lookup of a caller's keys and APIs, and the permissions that acting on them needs. */
import type { ClientBase } from "pg";
import { allOf, anyOf, type Requirement } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import type { Call } from "#api/procedure.ts";
import type { Database } from "#kernel/database.ts";
import { type KeyDetails, loadKeyDetails } from "./key-details.ts";

/** The ids by which permissions refer to a key. */
type Place = Pick<KeyDetails, "workspaceId" | "apiId" | "keySpaceId" | "id">;

/** `action` on this key: for all APIs, for its API, or by URN. */
export function onKey(key: Place, action: string): Requirement {
  const { workspaceId, apiId, keySpaceId, id } = key;
  return anyOf(
    `api.*.${action}`,
    `api.${apiId}.${action}`,
    `unkey:v1:${workspaceId}:keyspaces/${keySpaceId}/keys/${id}#${action}`,
  );
}

/** Requirement for changing a key's permissions or roles: the URN grant, or plain permissions with those of `rbac`. */
export function mayLink(key: Place, ...rbac: string[]): Requirement {
  const urn = `unkey:v1:${key.workspaceId}:keyspaces/${key.keySpaceId}/keys/${key.id}#update_key`;
  const plain = anyOf("api.*.update_key", `api.${key.apiId}.update_key`);
  return anyOf(urn, allOf(plain, ...rbac));
}

export type ApiPlace = {
  apiId: string;
  name: string;
  workspaceId: string;
  keySpaceId: string;
  storesEncryptedKeys: boolean;
  defaultPrefix: string | null;
  defaultBytes: number | null;
};

/** `action` on the keys of this API. */
export function onApi(api: ApiPlace, action: string): Requirement {
  const { apiId, workspaceId, keySpaceId } = api;
  const urn = `unkey:v1:${workspaceId}:keyspaces/${keySpaceId}/keys/*#${action}`;
  return anyOf(`api.*.${action}`, `api.${apiId}.${action}`, urn);
}

const noKey = "The requested key does not exist or has been deleted.";
const noApi = "The requested API does not exist or has been deleted.";

export function keyNotFound(): ApiError {
  return new ApiError("unkey/data/key_not_found", noKey);
}

export function apiNotFound(): ApiError {
  return new ApiError("unkey/data/api_not_found", noApi);
}

/** The caller's key. Throws the 404 when it does not exist, is deleted or belongs to another workspace. */
export async function findKey(
  connection: Database | ClientBase,
  call: Call,
  keyId: string,
): Promise<KeyDetails> {
  const where = `k.id = $1 AND k.workspace_id = $2 AND k.deleted_at IS NULL
    AND (a.id IS NULL OR a.deleted_at IS NULL)`;
  const [key] = await loadKeyDetails(connection, where, [keyId, call.workspaceId]);
  if (key === undefined) throw keyNotFound();
  return key;
}

/** Finds a key, and locks it until the transaction ends. */
export async function lockKey(
  transaction: ClientBase,
  call: Call,
  keyId: string,
): Promise<KeyDetails> {
  await transaction.query("SELECT 1 FROM keys WHERE id = $1 AND workspace_id = $2 FOR UPDATE", [
    keyId,
    call.workspaceId,
  ]);
  return findKey(transaction, call, keyId);
}

/** The caller's API. Throws the 404 when it does not exist, is deleted or belongs to another workspace. */
export async function findApi(
  connection: Database | ClientBase,
  call: Call,
  apiId: string,
): Promise<ApiPlace> {
  const { rows } = await connection.query<ApiPlace>(
    `SELECT a.id AS "apiId", a.name, a.workspace_id AS "workspaceId", a.key_space_id AS "keySpaceId",
       s.store_encrypted_keys AS "storesEncryptedKeys", s.default_prefix AS "defaultPrefix",
       s.default_bytes AS "defaultBytes"
     FROM apis a JOIN key_spaces s ON s.id = a.key_space_id
     WHERE a.id = $1 AND a.workspace_id = $2 AND a.deleted_at IS NULL`,
    [apiId, call.workspaceId],
  );
  if (rows[0] === undefined) throw apiNotFound();
  return rows[0];
}

/** Throws the 412 for a key space that does not store keys sealed. */
export function requireRecoverable(space: { storesEncryptedKeys: boolean }): void {
  if (space.storesEncryptedKeys) return;
  throw new ApiError(
    "unkey/application/precondition_failed",
    "This API does not store keys so that they can be recovered.",
  );
}

export function recordKey(
  change: Change,
  event: "key.update" | "key.delete",
  of: { id: string; description: string },
): void {
  const { id, description } = of;
  change.record({ event, description, targets: [{ type: "key", id }] });
}
