import type { Pool } from "pg";
import { z } from "zod";
import { procedure } from "#api/procedure.ts";
import { exampleRole, likePattern, RoleResponse, toPage } from "#api/schemas/resources.ts";
import { type ListQuery, PageInput, type PermissionsParts } from "./permission-store.ts";
import { type RoleRow, roleColumns, rolePermissionsBytes, toRole } from "./role-store.ts";

export function listRoles({ database }: PermissionsParts) {
  return procedure({
    summary: "Lists roles and their permissions by id, a page at a time.",
    input: PageInput,
    output: z.array(RoleResponse).describe("The roles of the page, by id."),
    example: {
      body: { limit: 10, search: exampleRole.name },
      data: [exampleRole],
      pagination: { hasMore: false },
    },
    permission: () => "rbac.*.read_role",
    handle: async ({ limit, cursor = "", search }, { workspaceId }) => {
      const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
      const { rows, pagination } = toPage(await listRoleIds(database, query), limit);
      const ids = rows.map(({ id }) => id);
      return { data: await readRoles(database, ids), pagination };
    },
  });
}

/** The ids of a page and of the first row of the next one. */
async function listRoleIds(
  database: Pool,
  { workspaceId, limit, cursor, pattern }: ListQuery,
): Promise<{ id: string; bytes: number }[]> {
  const { rows } = await database.query<{ id: string; bytes: number }>(
    `SELECT r.id, ${rolePermissionsBytes}::float8 AS bytes
     FROM roles r
     WHERE r.workspace_id = $1 AND r.id >= $2
       AND (r.id ILIKE $3 OR r.name ILIKE $3 OR r.description ILIKE $3)
     ORDER BY r.id LIMIT $4`,
    [workspaceId, cursor, pattern, limit + 1],
  );
  return rows;
}

/** The roles with these ids, ordered by id; one that was deleted in between is left out. */
async function readRoles(database: Pool, ids: readonly string[]): Promise<RoleResponse[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<RoleRow>(
    `SELECT ${roleColumns} FROM roles r WHERE r.id = ANY($1) ORDER BY r.id`,
    [ids],
  );
  return rows.map(toRole);
}
