import type { Database } from "#kernel/database.ts";

/** The last use of a key, unix milliseconds. */
export type LastUse = { keyId: string; timeMs: number };

const batchSize = 25_000;

/**
 * Writes to keys when they were last used, to the minute, and returns how many it changed. A time earlier
 * than the stored one changes nothing, so that the write can be repeated.
 */
export function createWriteLastUsed(database: Database) {
  return async (uses: readonly LastUse[]): Promise<number> => {
    let written = 0;
    for (let start = 0; start < uses.length; start += batchSize) {
      const batch = uses.slice(start, start + batchSize);
      const { rowCount } = await database.query(writeStatement, [
        batch.map(({ keyId }) => keyId),
        batch.map(({ timeMs }) => timeMs),
      ]);
      written += rowCount ?? 0;
    }
    return written;
  };
}

const writeStatement = `
UPDATE keys SET last_used_at = used.at
FROM (
  SELECT id, date_trunc('minute', to_timestamp(max(ms) / 1000.0)) AS at
  FROM unnest($1::text[], $2::float8[]) AS use (id, ms) GROUP BY id
) used
WHERE keys.id = used.id AND (keys.last_used_at IS NULL OR keys.last_used_at < used.at)`;
