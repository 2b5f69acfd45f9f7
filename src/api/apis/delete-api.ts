import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { exampleApiId } from "#api/keys/schemas.ts";
import { apiNotFound } from "#api/keys/store/key-access.ts";
import type { ApisParts } from "#api/parts.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { ApiId, Empty } from "#api/schemas/resources.ts";

export function deleteApi({ change }: ApisParts) {
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
