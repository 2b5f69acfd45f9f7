/** The quota of a workspace: its keys counted, and who is over it. */
import { Gauge, type Registry } from "prom-client";
import type { Database } from "#kernel/database.ts";

/** Counts the keys of every key space that are not deleted, into `key_spaces.key_count`. */
export function createCountKeys(database: Database, registry: Registry) {
  const gauge = new Gauge({
    name: "vedette_api_keys",
    help: "Keys that are not deleted, as last counted.",
    registers: [registry],
  });
  return async (): Promise<{ keySpaces: number; keys: number }> => {
    const { rows } = await database.query<{ spaces: number; keys: number }>(countStatement);
    const { spaces = 0, keys = 0 } = rows[0] ?? {};
    gauge.set(Number(keys));
    return { keySpaces: Number(spaces), keys: Number(keys) };
  };
}

const countStatement = `
WITH counted AS (
  UPDATE key_spaces SET key_count = found.count, counted_at = now()
  FROM (
    SELECT s.id, coalesce(k.count, 0) AS count FROM key_spaces s
    LEFT JOIN (
      SELECT key_space_id, count(*) FROM keys WHERE deleted_at IS NULL GROUP BY key_space_id
    ) k ON k.key_space_id = s.id
  ) found WHERE key_spaces.id = found.id
  RETURNING key_count
)
SELECT count(*) AS spaces, coalesce(sum(key_count), 0) AS keys FROM counted`;

/** Billable uses since a point in time (unix milliseconds), by workspace id. */
type ReadUsage = (
  workspaceIds: readonly string[],
  sinceMs: number,
) => Promise<ReadonlyMap<string, number>>;

type OverQuota = { workspaceId: string; name: string; used: number; quota: number };

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
