import { defaultFleet } from "#fleet/contract.ts";
import type { Database, Queries } from "#kernel/database.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { checksOf } from "#rollout/gates/registry.ts";
import { describeStanding } from "#rollout/rules/standing.ts";
import type {
  Member,
  MemberHistory,
  MessageView,
  Progress,
  RecordedRollout,
  SeenImage,
  SentinelDeploy,
} from "./contract.ts";

/** Each question after the one before: all may be of one transaction. */
export function createRolloutReader(database: Queries) {
  return {
    /** The rollout as it is recorded; undefined: there is none with this id. */
    async recorded(rolloutId: string): Promise<RecordedRollout | undefined> {
      const id = [rolloutId];
      const { rows } = await database.query("SELECT * FROM rollouts WHERE id = $1", id);
      const [row] = rows;
      if (row === undefined) return undefined;
      const gate_checks = checksOf(row.gates ?? []);
      const messages = await database.query(selectMessages, id);
      const images = await database.query(selectImages, id);
      return {
        status: toStatus(row),
        requested_image: row.requested_image,
        started_by: row.started_by,
        ...(row.ci_run !== null && { ci_run: row.ci_run }),
        ended_at: row.ended_at?.toISOString() ?? null,
        wave_percentages: row.wave_percentages,
        waves: row.waves.map((wave: Row, index: number) => ({ wave: index + 1, ...wave })),
        messages: messages.rows.map(toMessage),
        previous_images: images.rows,
        ...(gate_checks.length > 0 && { gate_checks }),
        ...(row.gate !== null && { gate: row.gate }),
      };
    },

    async members(rolloutId: string): Promise<Member[]> {
      return (await database.query<Member>(selectMembers, [rolloutId])).rows;
    },

    /** undefined: the sentinel is not in the rollout. */
    async member(rolloutId: string, id: string): Promise<Member | undefined> {
      const { rows } = await database.query<Member>(`${selectMembers} AND sentinel_id = $2`, [
        rolloutId,
        id,
      ]);
      return rows[0];
    },

    /** Progress over time: how many results there were after how many seconds. */
    async progress(rolloutId: string): Promise<Progress> {
      const { rows } = await database.query(selectProgress, [rolloutId]);
      return {
        seconds: rows.map((row) => Number(row.second)),
        done: rows.map((row) => Number(row.done)),
      };
    },
  };
}

/** A row as the database driver returns it, with the columns of its query. */
// biome-ignore lint/suspicious/noExplicitAny: its shape is that of the query
type Row = any;

function toMessage(row: Row): MessageView {
  const { id: _id, fields: _fields, ...message } = row.message;
  return {
    sequence: Number(row.sequence),
    event: row.event,
    actor: row.actor,
    at: row.at.toISOString(),
    ...message,
    delivery: {
      outcome: row.outcome,
      attempts: row.attempts ?? 0,
      detail: row.cause,
      at: (row.accepted_at ?? row.queued_at)?.toISOString() ?? null,
    },
  };
}

function toStatus(row: Row): RolloutStatus {
  const { state, image, current_wave, total_waves, total, succeeded, failed } = row;
  const isStill = state !== "rolling_back" && row.outcome !== "rolled_back";
  return {
    rollout_id: row.id,
    ...(row.fleet !== defaultFleet && { fleet: row.fleet }),
    ...{ state, image, current_wave, total_waves, total, succeeded, failed },
    in_flight: 0,
    failed_sentinels: [],
    ...(isStill && {
      standing: describeStanding({ image, total, succeeded, failed, inFlight: 0 }),
    }),
    started_at: row.started_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    left_out: row.left_out,
    outcome: row.outcome,
    waiting_for: row.waiting_for,
    ...(row.waits_until !== null && { until: row.waits_until.toISOString() }),
    policy: row.policy,
    ...(row.ci !== null && { ci: row.ci }),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.cause !== null && { cause: row.cause }),
  };
}

const selectMembers = `
  SELECT sentinel_id AS id, nullif(wave, 0) AS wave, outcome, reason AS outcome_reason,
    failure
  FROM rollout_sentinels WHERE rollout_id = $1`;

const selectMessages = `
  SELECT m.*, d.attempts, d.cause, d.accepted_at, d.queued_at,
    CASE WHEN d.attempts IS NULL OR d.status = 'pending' AND d.attempts = 0 THEN 'queued'
      WHEN d.status = 'pending' THEN 'sending' WHEN d.status = 'accepted' THEN 'delivered'
      WHEN d.status = 'not_posted' OR d.cause IS NULL THEN 'dropped'
      WHEN starts_with(d.cause, 'given up: ') THEN 'given_up' ELSE 'refused' END AS outcome
  FROM rollout_messages m LEFT JOIN alert_events d
    ON d.notice ->> 'id' = m.rollout_id || '#' || m.sequence AND d.channel = 'sentinel_rollout'
  WHERE m.rollout_id = $1 ORDER BY m.sequence DESC LIMIT 300`;

const selectImages = `
  SELECT previous_image AS image, count(*)::int AS sentinels FROM rollout_sentinels
  WHERE rollout_id = $1 AND outcome IN ('succeeded', 'not_reverted')
  GROUP BY previous_image ORDER BY 2 DESC LIMIT 10`;

/** At most 200 points. */
const selectProgress = `
  WITH done AS (
    SELECT extract(epoch FROM s.updated_at - r.started_at) AS second,
      row_number() OVER (ORDER BY s.updated_at) AS done
    FROM rollout_sentinels s JOIN rollouts r ON r.id = s.rollout_id
    WHERE s.rollout_id = $1 AND s.outcome <> 'left_out'),
  pieces AS (SELECT *, ntile(200) OVER (ORDER BY done) AS piece FROM done)
  SELECT max(second) AS second, max(done) AS done FROM pieces GROUP BY piece ORDER BY piece`;

const maxImages = 50;

/** The number of newest rollouts that are read: older ones repeat images, or interest nobody any more. */
const maxRollouts = 500;

/** Lists the images that run, ran before on a sentinel, or were rolled out, by their newest names; newest rollout first. */
type ReadSeenImages = (fleet: string) => Promise<SeenImage[]>;

/** Reads the images that a fleet has seen, for whoever starts a rollout. */
export function createImageReader(database: Database): ReadSeenImages {
  return async (fleet) => {
    const { rows } = await database.query(selectSeenImages, [fleet]);
    const seen: SeenImage[] = [];
    for (const { image, running, rollout } of rows) {
      const known = seen.find((one) => isSameContent(one.image, image));
      const at = rollout && { started_at: new Date(rollout.started_at).toISOString() };
      if (known === undefined)
        seen.push({ image, running, rollout: rollout && { ...rollout, ...at } });
      else known.running += running;
    }
    return seen;
  };
}

// Running images are never cut off by old rollouts.
const selectSeenImages = `
  WITH rolled_out AS (
    SELECT DISTINCT ON (image) image, started_at,
      json_build_object('id', id, 'started_at', started_at, 'state', state, 'outcome', outcome,
        'succeeded', succeeded, 'failed', failed) AS rollout
    FROM (SELECT * FROM rollouts WHERE fleet = $1 ORDER BY started_at DESC LIMIT ${maxRollouts}) AS newest
    ORDER BY image, started_at DESC
  ), members AS (
    SELECT image, sum(running)::int AS running FROM (
      SELECT running_image AS image, count(*) AS running FROM sentinels WHERE fleet = $1 GROUP BY 1
      UNION ALL
      SELECT DISTINCT previous_image, 0 FROM sentinels WHERE fleet = $1 AND previous_image <> '') AS m
    WHERE image <> '' GROUP BY 1
  ), seen AS (
    SELECT image, coalesce(running, 0) AS running, rollout, started_at
    FROM rolled_out FULL JOIN members USING (image)
    ORDER BY coalesce(running, 0) > 0 DESC, started_at DESC NULLS LAST, image LIMIT ${maxImages}
  )
  SELECT image, running, rollout FROM seen ORDER BY started_at DESC NULLS LAST, running DESC, image`;

const maxDeploys = 50;

/** Reads what became of sentinels, in one rollout or over all of them. */
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

type HistoryRow = { id: string; wave: number | null; changes: Change[] };

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

type RecentRollout = Record<"rolloutId" | "fleet" | "image", string> & {
  wave: number;
  endedAtMs?: number;
};

/** The running one; else one that ended within the hour, or a paused one. null: there is none. */
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
