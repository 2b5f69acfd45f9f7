/** The table `sentinel_logs`: of each sentinel the last lines of what its newest failed deploy had started. */
import type { Database } from "#kernel/database.ts";

/** What is kept of a failed deploy. `lines` empty: nothing, and `note` says why. */
type KeptLog = {
  deployId: string;
  image: string;
  /** Why the deploy failed. */
  reason: string;
  lines: string;
  note?: string | undefined;
};

/** A sentinel, and what is kept of it; null: nothing. */
export type FoundLog = {
  id: string;
  fleet: string;
  image: string;
  runningImage: string;
  /** Why its last deploy failed; null: it did not. */
  failure: string | null;
  kept: (KeptLog & { at: string }) | null;
};

export type LogStore = ReturnType<typeof createLogStore>;

export function createLogStore(database: Database) {
  return {
    /** undefined: there is no such sentinel. */
    async find(sentinelId: string): Promise<FoundLog | undefined> {
      const { rows } = await database.query(findLog, [sentinelId]);
      return rows.map(toFound)[0];
    },

    /** Other sentinels whose lines are kept and whose deploys failed with this image by this code, newest first. */
    async similar(sentinelId: string, { image, code }: { image: string; code: string }) {
      const { rows } = await database.query<{ id: string }>(findSimilar, [sentinelId, image, code]);
      return rows.map(({ id }) => id);
    },
  };
}

type Row = {
  id: string;
  fleet: string;
  image: string;
  running_image: string;
  failure: string | null;
  at: Date | null;
  deploy_id: string;
  kept_image: string;
  reason: string;
  lines: string;
  note: string | null;
};

function toFound(row: Row): FoundLog {
  const { id, fleet, image, failure, at, reason, lines, note } = row;
  const kept = at && {
    deployId: row.deploy_id,
    image: row.kept_image,
    reason,
    lines,
    ...(note !== null && { note }),
    at: at.toISOString(),
  };
  return { id, fleet, image, runningImage: row.running_image, failure, kept };
}

const findLog = `
  SELECT s.id, s.fleet, s.image, s.running_image,
    CASE s.deploy_status WHEN 'failed' THEN coalesce(s.deploy_reason, '') END AS failure,
    l.at, l.deploy_id, l.image AS kept_image, l.reason, l.lines, l.note
  FROM sentinels AS s LEFT JOIN sentinel_logs AS l ON l.sentinel_id = s.id
  WHERE s.id = $1`;

const findSimilar = `
  SELECT sentinel_id AS id FROM sentinel_logs
  WHERE sentinel_id <> $1 AND image = $2 AND split_part(reason, ':', 1) = $3 AND lines <> ''
  ORDER BY at DESC LIMIT 3`;
