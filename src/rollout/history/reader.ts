/** Reads everything about a rollout, from history. */
import { defaultFleet } from "#fleet/contract.ts";
import type { Database } from "#kernel/database.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { planWaves } from "#rollout/rules/waves.ts";
import type { Member, MessageView, Progress, RolloutDetail, WaveView } from "./contract.ts";

export function createRolloutReader(database: Database) {
  return {
    /** `status` comes from the rollout object, which is ahead of history. */
    async detail(status: RolloutStatus): Promise<RolloutDetail> {
      const id = [status.rollout_id ?? ""];
      const [rollouts, waves, messages, images, failures] = await Promise.all([
        database.query("SELECT * FROM rollouts WHERE id = $1", id),
        database.query(selectWaves, id),
        database.query(selectMessages, id),
        database.query(selectImages, id),
        database.query(selectFailures, id),
      ]);
      const row = rollouts.rows[0];
      const percentages: number[] = row?.wave_percentages ?? [];
      return {
        status,
        requested_image: row?.requested_image ?? null,
        started_by: row?.started_by ?? null,
        ended_at: row?.ended_at?.toISOString() ?? null,
        wave_percentages: percentages,
        reverted: row?.reverted ?? 0,
        waves: joinWaves(row?.waves ?? planWaves(status.total, percentages), waves.rows),
        messages: messages.rows.map(toMessage),
        previous_images: images.rows,
        failures: failures.rows,
      };
    },

    /** A past rollout's status from its row; undefined: there is none with this id. */
    async status(rolloutId: string): Promise<RolloutStatus | undefined> {
      const { rows } = await database.query("SELECT * FROM rollouts WHERE id = $1", [rolloutId]);
      return rows[0] === undefined ? undefined : toStatus(rows[0]);
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

type PlannedWave = Pick<WaveView, "percentage" | "size">;

function joinWaves(planned: readonly PlannedWave[], counted: Row[]): WaveView[] {
  const byWave = new Map(counted.map((row) => [row.wave, row]));
  return planned.map(({ percentage, size }, index) => {
    const row = byWave.get(index + 1);
    return {
      wave: index + 1,
      percentage,
      size,
      succeeded: row?.succeeded ?? 0,
      failed: row?.failed ?? 0,
      reverted: row?.reverted ?? 0,
      not_reverted: row?.not_reverted ?? 0,
      first_at: row?.first_at?.toISOString() ?? null,
      last_at: row?.last_at?.toISOString() ?? null,
    };
  });
}

function toMessage(row: Row): MessageView {
  const { id: _id, fields: _fields, ...message } = row.message;
  return {
    sequence: Number(row.sequence),
    event: row.event,
    actor: row.actor,
    at: row.at.toISOString(),
    ...message,
    delivery: {
      outcome: row.outcome ?? "queued",
      attempts: row.attempts ?? 0,
      detail: row.detail,
      at: row.updated_at?.toISOString() ?? null,
    },
  };
}

function toStatus(row: Row): RolloutStatus {
  const { state, image, current_wave, total_waves, total, succeeded, failed } = row;
  return {
    rollout_id: row.id,
    ...(row.fleet !== defaultFleet && { fleet: row.fleet }),
    ...{ state, image, current_wave, total_waves, total, succeeded, failed },
    in_flight: 0,
    failed_sentinels: [],
    started_at: row.started_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    left_out: row.left_out,
    outcome: row.outcome,
    policy: row.policy,
    ...(row.ci !== null && { ci: row.ci }),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.cause !== null && { cause: row.cause }),
  };
}

const selectMembers = `
  SELECT sentinel_id AS id, nullif(wave, 0) AS wave, outcome, reason AS outcome_reason
  FROM rollout_sentinels WHERE rollout_id = $1`;

const selectWaves = `
  SELECT wave,
    (count(*) FILTER (WHERE outcome = 'succeeded'))::int AS succeeded,
    (count(*) FILTER (WHERE outcome = 'failed'))::int AS failed,
    (count(*) FILTER (WHERE outcome = 'reverted'))::int AS reverted,
    (count(*) FILTER (WHERE outcome = 'not_reverted'))::int AS not_reverted,
    min(updated_at) FILTER (WHERE outcome <> 'left_out') AS first_at,
    max(updated_at) FILTER (WHERE outcome <> 'left_out') AS last_at
  FROM rollout_sentinels WHERE rollout_id = $1 GROUP BY wave`;

const selectMessages = `
  SELECT m.*, d.outcome, d.attempts, d.detail, d.updated_at
  FROM rollout_messages m LEFT JOIN chat_deliveries d ON d.message_id = m.rollout_id || '#' || m.sequence
  WHERE m.rollout_id = $1 ORDER BY m.sequence DESC LIMIT 300`;

const selectImages = `
  SELECT previous_image AS image, count(*)::int AS sentinels FROM rollout_sentinels
  WHERE rollout_id = $1 AND outcome IN ('succeeded', 'not_reverted')
  GROUP BY previous_image ORDER BY 2 DESC LIMIT 10`;

const selectFailures = `
  WITH failed AS (
    SELECT sentinel_id, coalesce(reason, 'unknown') AS reason,
      split_part(coalesce(reason, 'unknown'), ':', 1) AS code
    FROM rollout_sentinels WHERE rollout_id = $1 AND outcome IN ('failed', 'not_reverted')),
  texts AS (
    SELECT code, reason, count(*)::int AS count,
      row_number() OVER (PARTITION BY code ORDER BY count(*) DESC, reason) AS place
    FROM failed GROUP BY code, reason),
  codes AS (
    SELECT code, jsonb_agg(jsonb_build_object('reason', reason, 'count', count) ORDER BY place)
      FILTER (WHERE place <= 3) AS reasons, count(*)::int AS of
    FROM texts GROUP BY code)
  SELECT code, count(*)::int AS count, (array_agg(sentinel_id ORDER BY sentinel_id))[1:20] AS ids,
    codes.reasons, codes.of
  FROM failed JOIN codes USING (code)
  GROUP BY code, codes.reasons, codes.of ORDER BY 2 DESC, 1`;

/** At most 200 points. */
const selectProgress = `
  WITH done AS (
    SELECT extract(epoch FROM s.updated_at - r.started_at) AS second,
      row_number() OVER (ORDER BY s.updated_at) AS done
    FROM rollout_sentinels s JOIN rollouts r ON r.id = s.rollout_id
    WHERE s.rollout_id = $1 AND s.outcome <> 'left_out'),
  pieces AS (SELECT *, ntile(200) OVER (ORDER BY done) AS piece FROM done)
  SELECT max(second) AS second, max(done) AS done FROM pieces GROUP BY piece ORDER BY piece`;
