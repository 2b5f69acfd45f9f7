/** Reads everything about a rollout, from history. */
import { defaultFleet } from "#fleet/contract.ts";
import type { Queries } from "#kernel/database.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { describeStanding } from "#rollout/rules/standing.ts";
import type { Member, MessageView, Progress, RecordedRollout } from "./contract.ts";

/** Each question after the one before: all may be of one transaction. */
export function createRolloutReader(database: Queries) {
  return {
    /** The rollout as it is recorded; undefined: there is none with this id. */
    async recorded(rolloutId: string): Promise<RecordedRollout | undefined> {
      const id = [rolloutId];
      const { rows } = await database.query("SELECT * FROM rollouts WHERE id = $1", id);
      const [row] = rows;
      if (row === undefined) return undefined;
      const messages = await database.query(selectMessages, id);
      const images = await database.query(selectImages, id);
      return {
        status: toStatus(row),
        requested_image: row.requested_image,
        started_by: row.started_by,
        ended_at: row.ended_at?.toISOString() ?? null,
        wave_percentages: row.wave_percentages,
        waves: row.waves.map((wave: Row, index: number) => ({ wave: index + 1, ...wave })),
        messages: messages.rows.map(toMessage),
        previous_images: images.rows,
        ...(row.gate_checks !== null && { gate_checks: row.gate_checks }),
      };
    },

    /** The sentinels of the rollout, with their outcomes. */
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
