/** The table `sentinel_logs`: of each sentinel the last lines of what its newest failed deploy had started. */
import type { Database } from "#kernel/database.ts";

/** The stored log tail of a failed deploy. `lines` empty: nothing, and `note` says why. */
type StoredLog = {
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
  /** Its last deploy; null: there was none. */
  deployId: string | null;
  /** Why that failed; null: it did not. */
  failure: string | null;
  kept: (StoredLog & { at: string }) | null;
};

export type LogStore = ReturnType<typeof createLogStore>;

export function createLogStore(database: Database) {
  return {
    /**
     * Replaces what was kept of the sentinel before; of the same deploy only by lines. Nothing is kept of a sentinel that
     * is not known, and of a deploy that another one has followed.
     */
    async keep(sentinelId: string, { deployId, image, reason, lines, note }: StoredLog) {
      await database.query(keepLog, [sentinelId, deployId, image, reason, lines, note ?? null]);
    },

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
  deploy_id: string | null;
  at: Date | null;
  kept_deploy_id: string;
  kept_image: string;
  reason: string;
  lines: string;
  note: string | null;
};

function toFound(row: Row): FoundLog {
  const { id, fleet, image, failure, at, reason, lines, note } = row;
  const kept = at && {
    deployId: row.kept_deploy_id,
    image: row.kept_image,
    reason,
    lines,
    ...(note !== null && { note }),
    at: at.toISOString(),
  };
  const { running_image: runningImage, deploy_id: deployId } = row;
  return { id, fleet, image, runningImage, deployId, failure, kept };
}

const findLog = `
  SELECT s.id, s.fleet, s.image, s.running_image, s.deploy_id,
    CASE s.deploy_status WHEN 'failed' THEN coalesce(s.deploy_reason, '') END AS failure,
    l.at, l.deploy_id AS kept_deploy_id, l.image AS kept_image, l.reason, l.lines, l.note
  FROM sentinels AS s LEFT JOIN sentinel_logs AS l ON l.sentinel_id = s.id
  WHERE s.id = $1`;

const keepLog = `
  INSERT INTO sentinel_logs AS l (sentinel_id, deploy_id, image, reason, lines, note)
  SELECT id, $2, $3, $4, $5, $6 FROM sentinels
  WHERE id = $1 AND (deploy_id IS NULL OR deploy_id = $2)
  ON CONFLICT (sentinel_id) DO UPDATE SET deploy_id = excluded.deploy_id, image = excluded.image,
    reason = excluded.reason, at = now(), lines = excluded.lines, note = excluded.note
  WHERE l.deploy_id <> excluded.deploy_id OR excluded.lines <> ''`;

const findSimilar = `
  SELECT sentinel_id AS id FROM sentinel_logs
  WHERE sentinel_id <> $1 AND image = $2 AND split_part(reason, ':', 1) = $3 AND lines <> ''
  ORDER BY at DESC LIMIT 3`;
