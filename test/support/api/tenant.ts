/** A workspace with something of everything in it, and what there is to see of it. */
import type { TestApi } from "./api.ts";

export type Tenant = Awaited<ReturnType<typeof createTenant>>;

/** All names end with `mark`, by which they are known wherever they turn up. */
export async function createTenant(api: TestApi, mark: string) {
  const workspace = await api.createWorkspace();
  const ask = async (procedure: string, body: unknown) => {
    const answer = await api.call(procedure, body, workspace.rootKey);
    if (answer.status !== 200) throw new Error(`${procedure}: ${JSON.stringify(answer.body)}`);
    return answer.body.data;
  };
  const names = {
    externalId: `user_${mark}`,
    role: `role ${mark}`,
    slug: `docs.${mark}`,
    namespace: `namespace_${mark}`,
    identifier: `identifier_${mark}`,
    migrationId: `migration_${mark}`,
  };
  const ratelimits = [{ name: `limit_${mark}`, limit: 1e6, duration: 60_000, autoApply: true }];
  const { apiId } = await ask("apis.createApi", { name: `api ${mark}` });
  const identity = { externalId: names.externalId, meta: { mark }, ratelimits };
  const { identityId } = await ask("identities.createIdentity", identity);
  const { roleId } = await ask("permissions.createRole", {
    name: names.role,
    permissions: [names.slug],
  });
  const { id: permissionId } = await ask("permissions.getPermission", { permission: names.slug });
  const { keyId, key } = await ask("keys.createKey", {
    apiId,
    name: `key ${mark}`,
    externalId: names.externalId,
    roles: [names.role],
    permissions: [`own.${mark}`],
    credits: { remaining: 1_000 },
    ratelimits,
    recoverable: true,
  });
  await api.database.query(
    "INSERT INTO key_migrations (id, workspace_id, algorithm) VALUES ($1, $2, 'sha256')",
    [names.migrationId, workspace.id],
  );
  return { ...names, ...workspace, ask, mark, apiId, identityId, roleId, permissionId, keyId, key };
}

/** Every row that belongs to a workspace, also those that only a key or a role leads to. */
export async function rowsOf(
  { database }: Pick<TestApi, "database">,
  workspaceId: string,
): Promise<Record<string, string[]>> {
  const { rows: tables } = await database.query<{ name: string; columns: string[] }>(
    `SELECT table_name AS name, array_agg(column_name::text) AS columns
     FROM information_schema.columns WHERE table_schema = 'public' GROUP BY table_name`,
  );
  const found: Record<string, string[]> = {};
  for (const { name, columns } of tables) {
    const where = belonging.find(([column]) => columns.includes(column))?.[1];
    if (where === undefined) continue;
    const { rows } = await database.query<{ row: string }>(
      `SELECT t::text AS row FROM ${name} t WHERE ${where} ORDER BY 1`,
      [workspaceId],
    );
    found[name] = rows.map(({ row }) => row);
  }
  return found;
}

/** How a table's rows are known to be a workspace's, by a column that it has. */
const belonging = [
  ["workspace_id", "workspace_id = $1"],
  ["key_id", "key_id IN (SELECT id FROM keys WHERE workspace_id = $1)"],
  ["role_id", "role_id IN (SELECT id FROM roles WHERE workspace_id = $1)"],
] as const;
