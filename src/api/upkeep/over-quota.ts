import type { Database } from "#kernel/database.ts";

/** Billable uses since a point in time (unix milliseconds), by workspace id. */
export type ReadUsage = (
  workspaceIds: readonly string[],
  sinceMs: number,
) => Promise<ReadonlyMap<string, number>>;

export type OverQuota = { workspaceId: string; name: string; used: number; quota: number };

/** Returns the workspaces that have reached their monthly quota. */
export function createReadOverQuota(database: Database, readUsage: ReadUsage) {
  return async (sinceMs: number): Promise<OverQuota[]> => {
    const { rows } = await database.query<{ id: string; name: string; quota: string }>(
      `SELECT id, name, monthly_quota AS quota FROM workspaces
       WHERE monthly_quota IS NOT NULL ORDER BY id`,
    );
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const usage = await readUsage(ids, sinceMs);
    return rows
      .map(({ id, name, quota }) => ({
        workspaceId: id,
        name,
        used: usage.get(id) ?? 0,
        quota: Number(quota),
      }))
      .filter(({ used, quota }) => used >= quota);
  };
}
