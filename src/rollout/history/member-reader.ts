/** Reads what became of sentinels, in one rollout or over all of them. */
import type { Database } from "#kernel/database.ts";
import type { MemberHistory, SentinelDeploy } from "./contract.ts";

const maxDeploys = 50;

/** Newest rollouts read, each by its primary key: an index by sentinel would be written at each deploy. */
const maxRollouts = 500;

export function createMemberReader(database: Database) {
  return {
    /** Every sentinel of a rollout with what became of it. */
    async histories(rolloutId: string): Promise<MemberHistory[]> {
      const { rows } = await database.query<HistoryRow>(selectHistories, [rolloutId]);
      return rows.map(toHistory);
    },

    /** The newest deploys of a sentinel, over its fleet's rollouts; without those that ended before they came to it. */
    async deploys(sentinelId: string): Promise<SentinelDeploy[]> {
      const { rows } = await database.query(selectDeploys, [sentinelId, maxDeploys]);
      return rows.map(({ at, started_at, ...row }) => ({
        ...row,
        at: at.toISOString(),
        started_at: started_at.toISOString(),
      }));
    },
  };
}

type Change = [outcome: string | null, atMs: number, orderedMs: number | null];

type HistoryRow = {
  id: string;
  wave: number | null;
  changes: Change[];
};

function toHistory({ id, wave, changes }: HistoryRow): MemberHistory {
  const moments = changes.map(([outcome, atMs, orderedMs]) => ({ outcome, atMs, orderedMs }));
  // Results may have come in another order than they were written in.
  return { id, wave, moments: moments.toSorted(byTime) };
}

function byTime(a: { atMs: number }, b: { atMs: number }): number {
  return a.atMs - b.atMs;
}

const selectHistories = `
  SELECT sentinel_id AS id, nullif(wave, 0) AS wave, changes
  FROM rollout_sentinels WHERE rollout_id = $1`;

const selectDeploys = `
  SELECT s.rollout_id, r.started_at, r.state AS rollout_state, r.image, s.previous_image,
    nullif(s.wave, 0) AS wave, s.outcome, s.reason, s.failure, s.updated_at AS at
  FROM (
    SELECT * FROM rollouts WHERE fleet = (SELECT fleet FROM sentinels WHERE id = $1)
    ORDER BY started_at DESC LIMIT ${maxRollouts}) AS r
  JOIN rollout_sentinels AS s ON s.rollout_id = r.id AND s.sentinel_id = $1
  WHERE s.wave > 0 AND (s.outcome IS NOT NULL OR r.ended_at IS NULL)
  ORDER BY r.started_at DESC, r.id DESC LIMIT $2`;
