/** The table `identities`. */
import type { ClientBase, Pool } from "pg";
import { ApiError } from "#api/error.ts";
import { type RatelimitRule, rulesOf } from "#api/schemas/ratelimit-rules.ts";

export type IdentityRow = {
  id: string;
  externalId: string;
  meta: Record<string, unknown> | null;
  ratelimits: RatelimitRule[];
};

/** The columns of an `IdentityRow`; `i` is the table. */
export const identityColumns = `i.id, i.external_id AS "externalId", i.meta,
  ${rulesOf("r.identity_id = i.id")} AS ratelimits`;

/** The identity with this id, else with this external id. Throws the 404. */
export async function findIdentity(
  database: Pool | ClientBase,
  workspaceId: string,
  idOrExternalId: string,
): Promise<IdentityRow> {
  const { rows } = await database.query<IdentityRow>(
    `SELECT ${identityColumns} FROM identities i
     WHERE i.workspace_id = $1 AND i.deleted_at IS NULL AND (i.id = $2 OR i.external_id = $2)
     ORDER BY i.id = $2 DESC LIMIT 1`,
    [workspaceId, idOrExternalId],
  );
  if (rows[0] === undefined) throw identityNotFound();
  return rows[0];
}

/** The requested id is not in the message: it may be of any length. */
export function identityNotFound(): ApiError {
  return new ApiError("unkey/data/identity_not_found", "This identity does not exist.");
}
