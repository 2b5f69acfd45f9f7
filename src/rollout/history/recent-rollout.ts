import type { Database } from "#kernel/database.ts";

type RecentRollout = Record<"rolloutId" | "fleet" | "image", string> & {
  wave: number;
  endedAtMs?: number;
};

/**
 * The rollout that runs, by its history; else the last that ended within the hour before, with its last wave and when
 * it ended; else one that is paused, perhaps for weeks, and perhaps of a fleet that serves nobody. null: there is none.
 */
export async function readRecentRollout(database: Database): Promise<RecentRollout | null> {
  const { rows } = await database.query(findRecent);
  const [found] = rows;
  if (found === undefined) return null;
  const { id: rolloutId, fleet, image, current_wave: wave, ended_at: endedAt } = found;
  const mark = { rolloutId, fleet, image, wave };
  return endedAt === null ? mark : { ...mark, endedAtMs: endedAt.getTime() };
}

const findRecent = `
  SELECT id, fleet, image, current_wave, ended_at FROM rollouts
  WHERE ended_at IS NULL OR ended_at > now() - interval '1 hour'
  ORDER BY state = 'paused', ended_at DESC NULLS FIRST, started_at DESC LIMIT 1`;
