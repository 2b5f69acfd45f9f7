/** Administration of workspaces, directly in the database: the contract has no procedure for it. */
import { announce } from "#api/cache/invalidation.ts";
import { auditSystem } from "#api/changes/change.ts";
import { newId } from "#api/ids.ts";
import { type Database, inTransaction } from "#kernel/database.ts";

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

type Workspace = {
  id: string;
  name: string;
  enabled: boolean;
  /** Null: no limit. 0: no calls. */
  requestsPerMinute: number | null;
  /** Billable uses a month. Null: no quota. */
  monthlyQuota: number | null;
  keys: number;
};

/** Absent: unchanged. */
type WorkspaceChange = Partial<Pick<Workspace, "enabled" | "requestsPerMinute" | "monthlyQuota">>;

/** `actor` is who is at the command line, for the audit log. */
export function createWorkspaceAdmin(database: Database, actor: string) {
  return {
    create: async (name: string): Promise<string> => {
      const id = newId("workspace");
      await inTransaction(database, async (transaction) => {
        await transaction.query("INSERT INTO workspaces (id, name) VALUES ($1, $2)", [id, name]);
        const description = `Created workspace ${id}`;
        const targets = [{ type: "workspace", id, name }];
        await auditSystem(transaction, actor, [
          { workspaceId: id, event: "workspace.create", description, targets },
        ]);
      });
      return id;
    },

    /** Lists all by name; the number of keys is as last counted. */
    list: async (): Promise<Workspace[]> => {
      const { rows } = await database.query<
        Record<"requests" | "quota" | "keys", string | null> & Workspace
      >(
        `SELECT w.id, w.name, w.enabled, api_requests_per_minute AS requests,
           monthly_quota AS quota,
           (SELECT coalesce(sum(key_count), 0) FROM key_spaces s WHERE s.workspace_id = w.id) AS keys
         FROM workspaces w ORDER BY w.name, w.id`,
      );
      return rows.map(({ id, name, enabled, requests, quota, keys }) => ({
        id,
        name,
        enabled,
        requestsPerMinute: toNumber(requests),
        monthlyQuota: toNumber(quota),
        keys: Number(keys),
      }));
    },

    /** Changes a workspace: every `api` process applies it within a second. Throws when there is no such workspace. */
    change: async (id: string, change: WorkspaceChange): Promise<void> => {
      const { enabled, requestsPerMinute, monthlyQuota } = change;
      await inTransaction(database, async (transaction) => {
        const { rowCount } = await transaction.query(
          `UPDATE workspaces SET
             enabled = coalesce($2, enabled),
             api_requests_per_minute = CASE WHEN $3 THEN $4 ELSE api_requests_per_minute END,
             monthly_quota = CASE WHEN $5 THEN $6 ELSE monthly_quota END
           WHERE id = $1`,
          [
            id,
            enabled,
            requestsPerMinute !== undefined,
            requestsPerMinute,
            monthlyQuota !== undefined,
            monthlyQuota,
          ],
        );
        if (rowCount === 0) throw new Error(`there is no workspace ${id}`);
        const targets = [{ type: "workspace", id }];
        const description = `Changed workspace ${id}`;
        await auditSystem(transaction, actor, [
          { workspaceId: id, event: "workspace.update", description, targets, meta: { ...change } },
        ]);
        await announce(transaction, [`workspace:${id}`]);
      });
    },
  };
}

function toNumber(value: string | null): number | null {
  return value === null ? null : Number(value);
}
