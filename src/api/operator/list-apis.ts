/** Workspaces and their APIs, for the console. */
import type { Database } from "#kernel/database.ts";

/** The APIs of a workspace; without an id, those of the oldest workspace. */
export function createListApis(database: Database) {
  return async (givenId: string | undefined) => {
    const { rows: workspaces } = await database.query<{ id: string; name: string }>(
      selectWorkspaces,
    );
    const workspaceId = givenId ?? workspaces[0]?.id ?? null;
    const { rows } = await database.query(selectApis, [workspaceId]);
    const apis = rows.map(({ name, key_space_id, keys }) => ({
      name: String(name),
      key_space_id: String(key_space_id),
      keys: Number(keys),
    }));
    return { workspaceId, workspaces, apis };
  };
}

const selectWorkspaces = "SELECT id, name FROM workspaces ORDER BY created_at, id LIMIT 200";

const selectApis = `
  SELECT a.name, a.key_space_id, s.key_count AS keys
  FROM apis a JOIN key_spaces s ON s.id = a.key_space_id
  WHERE a.workspace_id = $1 AND a.deleted_at IS NULL
  ORDER BY a.name, a.id LIMIT 100`;
