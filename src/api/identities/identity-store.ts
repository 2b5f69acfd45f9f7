/** The table `identities`, as it is answered. */
import type { ClientBase, Pool } from "pg";
import { ApiError } from "#api/error.ts";
import { type RatelimitRule, rulesOf } from "#api/schemas/ratelimit-rules.ts";

export type IdentityRow = {
  id: string;
  externalId: string;
  meta: Record<string, unknown> | null;
  ratelimits: RatelimitRule[];
};

const columns = `i.id, i.external_id AS "externalId", i.meta,
  ${rulesOf("r.identity_id = i.id")} AS ratelimits`;

/** The identity of this id, else of this external id. Throws the 404. */
export async function findIdentity(
  database: Pool | ClientBase,
  workspaceId: string,
  idOrExternalId: string,
): Promise<IdentityRow> {
  const { rows } = await database.query<IdentityRow>(
    `SELECT ${columns} FROM identities i
     WHERE i.workspace_id = $1 AND i.deleted_at IS NULL AND (i.id = $2 OR i.external_id = $2)
     ORDER BY i.id = $2 DESC LIMIT 1`,
    [workspaceId, idOrExternalId],
  );
  if (rows[0] === undefined) throw identityNotFound();
  return rows[0];
}

/** What was asked for is not repeated: it may be of any length. */
export function identityNotFound(): ApiError {
  return new ApiError("unkey/data/identity_not_found", "This identity does not exist.");
}

/** `pattern` for ILIKE; `cursor` is the first id, "" for the beginning. */
type ListQuery = { workspaceId: string; limit: number; cursor: string; pattern: string };

/** The ids of a page and of the first row of the next one. */
export async function listIdentityIds(
  database: Pool,
  { workspaceId, limit, cursor, pattern }: ListQuery,
): Promise<{ id: string; bytes: number }[]> {
  const { rows } = await database.query<{ id: string; bytes: number }>(
    `SELECT i.id, coalesce(octet_length(i.meta::text), 0) AS bytes FROM identities i
     WHERE i.workspace_id = $1 AND i.deleted_at IS NULL AND i.id >= $2
       AND (i.id ILIKE $3 OR i.external_id ILIKE $3)
     ORDER BY i.id LIMIT $4`,
    [workspaceId, cursor, pattern, limit + 1],
  );
  return rows;
}

/** The identities with these ids, in order; one that was deleted meanwhile is left out. */
export async function readIdentities(
  database: Pool,
  ids: readonly string[],
): Promise<IdentityRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<IdentityRow>(
    `SELECT ${columns} FROM identities i
     WHERE i.id = ANY($1) AND i.deleted_at IS NULL ORDER BY i.id`,
    [ids],
  );
  return rows;
}
