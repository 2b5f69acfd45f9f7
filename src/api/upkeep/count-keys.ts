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
