import type { Pool } from "pg";
import { z } from "zod";
import { demand, procedure } from "#api/procedure.ts";
import {
  aboutCursor,
  exampleIdentity,
  IdentityResponse,
  likePattern,
  pageSize,
  toPage,
} from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import {
  describeIdentity,
  type IdentitiesParts,
  type IdentityRow,
  identityColumns,
  ofIdentities,
  ofIdentity,
} from "./identity-store.ts";

export function listIdentities({ database }: IdentitiesParts) {
  return procedure({
    summary: "Lists identities by id, a page at a time.",
    input: z.strictObject({
      limit: pageSize(100),
      cursor: text().describe(aboutCursor).optional(),
      search: text({ max: 256 })
        .describe("Part of the id or the external id, in whatever case; absent: all identities.")
        .optional(),
    }),
    output: z.array(IdentityResponse).describe("The identities of the page, by id."),
    example: {
      body: { limit: 10, search: "user_" },
      data: [exampleIdentity],
      pagination: { hasMore: false },
    },
    handle: async ({ limit, cursor = "", search }, call) => {
      const { workspaceId } = call;
      const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
      const { rows, pagination } = toPage(await listIdentityIds(database, query), limit);
      if (rows.length === 0) demand(call, ofIdentities(call, "read_identity"));
      const ids = rows.map(({ id }) => id);
      for (const id of ids) demand(call, ofIdentity(call, id, "read_identity"));
      const identities = await readIdentities(database, ids);
      return { data: identities.map(describeIdentity), pagination };
    },
  });
}

/** `pattern` for ILIKE; `cursor` is the first id, "" for the beginning. */
type ListQuery = { workspaceId: string; limit: number; cursor: string; pattern: string };

/** The ids of a page and of the first row of the next one. */
async function listIdentityIds(
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

/** The identities with these ids, ordered by id; one that was deleted in between is left out. */
async function readIdentities(database: Pool, ids: readonly string[]): Promise<IdentityRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<IdentityRow>(
    `SELECT ${identityColumns} FROM identities i
     WHERE i.id = ANY($1) AND i.deleted_at IS NULL ORDER BY i.id`,
    [ids],
  );
  return rows;
}
