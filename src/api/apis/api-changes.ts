/** APIs made and deleted. */
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { apiNotFound } from "#api/keys/store/key-access.ts";
import type { Call } from "#api/procedure.ts";

/** Answers the new API's id. Names may be used more than once. */
export async function createApi(
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

type LockedApi = { name: string; keySpaceId: string; isProtected: boolean };

/** Its keys stop verifying everywhere. Throws the 404, and the 412 of one that is protected. */
export async function deleteApi(
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
