/** The table `apis`, without those that are deleted. */
import type { ClientBase, Pool } from "pg";
import { ApiError } from "#api/error.ts";

export type ApiRow = {
  id: string;
  name: string;
  keySpaceId: string;
  /** Whether its keys may be shown again. */
  storesEncryptedKeys: boolean;
};

/** The API of this id. Throws the 404. */
export async function findApi(
  database: Pool | ClientBase,
  workspaceId: string,
  apiId: string,
): Promise<ApiRow> {
  const { rows } = await database.query<ApiRow>(
    `SELECT a.id, a.name, a.key_space_id AS "keySpaceId",
       s.store_encrypted_keys AS "storesEncryptedKeys"
     FROM apis a JOIN key_spaces s ON s.id = a.key_space_id
     WHERE a.workspace_id = $1 AND a.id = $2 AND a.deleted_at IS NULL`,
    [workspaceId, apiId],
  );
  if (rows[0] === undefined) throw apiNotFound();
  return rows[0];
}

/** Also the answer to who may not see it. */
export function apiNotFound(): ApiError {
  return new ApiError(
    "unkey/data/api_not_found",
    "The requested API does not exist or has been deleted.",
  );
}
