import type { Database } from "#kernel/database.ts";

/** The rollout that has not ended, by its history; null: there is none. */
export async function readActiveRollout(
  database: Database,
): Promise<{ rolloutId: string; wave: number } | null> {
  const { rows } = await database.query(findActive);
  return rows[0] === undefined ? null : { rolloutId: rows[0].id, wave: rows[0].current_wave };
}

const findActive = `
  SELECT id, current_wave FROM rollouts WHERE ended_at IS NULL
  ORDER BY started_at DESC LIMIT 1`;
