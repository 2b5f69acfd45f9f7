import type { Pool } from "pg";
import { z } from "zod";
import { procedure } from "#api/procedure.ts";
import {
  examplePermission,
  likePattern,
  PermissionResponse,
  toPage,
} from "#api/schemas/resources.ts";
import {
  type ListQuery,
  PageInput,
  type PermissionRow,
  type PermissionsParts,
  permissionColumns,
  toPermission,
} from "./permission-store.ts";

export function listPermissions({ database }: PermissionsParts) {
  return procedure({
    summary: "Lists permissions by id, a page at a time.",
    input: PageInput,
    output: z.array(PermissionResponse).describe("The permissions of the page, by id."),
    example: {
      body: { limit: 10, search: examplePermission.name },
      data: [examplePermission],
      pagination: { hasMore: false },
    },
    permission: () => "rbac.*.read_permission",
    handle: async ({ limit, cursor = "", search }, { workspaceId }) => {
      const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
      const { rows, pagination } = toPage(await readPermissions(database, query), limit);
      return { data: rows, pagination };
    },
  });
}

/** A page and the first row of the next one. */
async function readPermissions(
  database: Pool,
  { workspaceId, limit, cursor, pattern }: ListQuery,
): Promise<PermissionResponse[]> {
  const { rows } = await database.query<PermissionRow>(
    `SELECT ${permissionColumns} FROM permissions p
     WHERE p.workspace_id = $1 AND p.id >= $2
       AND (p.id ILIKE $3 OR p.name ILIKE $3 OR p.slug ILIKE $3 OR p.description ILIKE $3)
     ORDER BY p.id LIMIT $4`,
    [workspaceId, cursor, pattern, limit + 1],
  );
  return rows.map(toPermission);
}
