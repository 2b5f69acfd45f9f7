/** Reads what became of sentinels, in one rollout or over all of them. */
import type { Database } from "#kernel/database.ts";
import type { MemberHistory, SentinelDeploy } from "./contract.ts";

const maxDeploys = 50;

export function createMemberReader(database: Database) {
  return {
    /** Every sentinel of a rollout with what became of it. */
    async histories(rolloutId: string): Promise<MemberHistory[]> {
      const { rows } = await database.query<HistoryRow>(selectHistories, [rolloutId]);
      return rows.map(toHistory);
    },

    /** The newest deploys of a sentinel, over all rollouts. */
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
  outcome: string | null;
  at: Date;
  changes: Change[] | null;
};

/** One that was left out of all waves has been so from the start. */
function toHistory({ id, wave, outcome, at, changes }: HistoryRow): MemberHistory {
  const last: Change[] = outcome === null ? [] : [[outcome, at.getTime(), null]];
  const moments = (changes ?? (wave === null ? [] : last)).map(([to, atMs, orderedMs]) => ({
    outcome: to,
    atMs,
    orderedMs,
  }));
  // Results may have come in another order than they were written in.
  return { id, wave, moments: moments.toSorted(byTime), isWhole: changes !== null };
}

function byTime(a: { atMs: number }, b: { atMs: number }): number {
  return a.atMs - b.atMs;
}

const selectHistories = `
  SELECT sentinel_id AS id, nullif(wave, 0) AS wave, outcome, updated_at AS at, changes
  FROM rollout_sentinels WHERE rollout_id = $1`;

const selectDeploys = `
  SELECT s.rollout_id, r.started_at, r.state AS rollout_state, r.image, s.previous_image,
    nullif(s.wave, 0) AS wave, s.outcome, s.reason, s.updated_at AS at
  FROM rollout_sentinels AS s JOIN rollouts AS r ON r.id = s.rollout_id
  WHERE s.sentinel_id = $1 ORDER BY r.started_at DESC, r.id DESC LIMIT $2`;
