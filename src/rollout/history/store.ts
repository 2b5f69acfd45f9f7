/** The tables `rollouts`, `rollout_messages` and `rollout_sentinels`. Every write is idempotent. */
import type { ExplainPause } from "#blame/contract.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { recordAudit } from "#kernel/audit.ts";
import type { Database } from "#kernel/database.ts";
import { isSameImage } from "#kernel/image-reference.ts";
import { toStorableJson } from "#kernel/text.ts";
import type { HistoryRequest } from "#rollout/calls-contract.ts";
import type { RolloutHistory } from "#rollout/contract.ts";
import { checksOf } from "#rollout/gates/registry.ts";
import {
  type HistoryEntry,
  isEnd,
  type LeftOutEntry,
  type OutcomesEntry,
  type PlannedBatch,
  toAudit,
  toPlanned,
} from "./interface.ts";

export type HistoryStore = ReturnType<typeof createHistoryStore>;

type FleetRollout = { fleet: string } & ReturnType<typeof toRollout>;

type OfFleet = HistoryRequest & { fleet: string };

export function createHistoryStore(database: Database, explain?: ExplainPause) {
  return {
    /** Updates the rollout's row from this entry, except fields that are newer already. */
    async save(rolloutId: string, entry: HistoryEntry): Promise<void> {
      await database.query(saveRollout, rolloutRow(rolloutId, entry));
      const { told, toldAt, updatedAt, fleet = defaultFleet } = entry;
      const besides = (await explain?.({ id: rolloutId, fleet, event: told.event })) ?? [];
      const message = { ...told.message, lines: [...told.message.lines, ...besides] };
      const row = [rolloutId, toldAt, told.event, told.by ?? null, updatedAt, message];
      await database.query(saveMessage, row);
      await recordAudit(database, [toAudit(rolloutId, entry)]);
    },

    /** Writes the members of batches before they are deployed; those that are known already stay as they are. */
    async plan(rolloutId: string, batches: readonly PlannedBatch[]): Promise<void> {
      const waves = batches.flatMap(({ wave, ids }) => ids.map(() => wave));
      const ids = batches.flatMap((batch) => batch.ids);
      const images = batches.flatMap(({ previousImages }) => previousImages);
      await database.query(saveMembers, [rolloutId, waves, ids, images, null, null]);
    },

    /** Writes sentinels that are in no wave. */
    async leaveOut(rolloutId: string, { ids, reason }: LeftOutEntry): Promise<void> {
      const [waves, images] = [ids.map(() => 0), ids.map(() => "")];
      await database.query(saveMembers, [rolloutId, waves, ids, images, "left_out", reason]);
    },

    /** Writes results of deploys, in whatever order they come, and the totals with them. */
    async outcomes(rolloutId: string, { batch, ...entry }: OutcomesEntry): Promise<void> {
      const { changes, isLate, totals } = entry;
      const row = outcomesRow(rolloutId, entry);
      const { rows } = await database.query<{ known: number }>(saveOutcomes, row);
      if (batch !== undefined && (rows[0]?.known ?? 0) < Math.max(1, changes.length)) {
        await this.plan(rolloutId, [toPlanned(batch)]);
        await this.outcomes(rolloutId, entry);
      }
      if (totals === undefined && isLate) await database.query(recount, [rolloutId]);
    },

    /** The ids of the sentinels whose deploy has succeeded. */
    async readSucceeded(rolloutId: string): Promise<string[]> {
      const { rows } = await database.query<{ id: string }>(selectSucceeded, [rolloutId]);
      return rows.map(({ id }) => id);
    },

    /** Past rollouts of a fleet, newest first. */
    async list({ fleet, limit, before }: OfFleet): Promise<RolloutHistory> {
      const { rows } = await database.query(listRollouts, [limit, before ?? null, fleet]);
      return {
        rollouts: rows.map((row) => ({ ...toRollout(row), failed_before: row.failed_before })),
      };
    },

    /** The newest rollout of each of these fleets that ever had one. */
    async newest(fleets: readonly string[]): Promise<FleetRollout[]> {
      const { rows } = await database.query(newestRollouts, [fleets]);
      return rows.map((row) => ({ fleet: row.fleet, ...toRollout(row) }));
    },

    /** True if the newest rollout of the image to the fleet has completed, and did not leave everybody out. */
    async hasCompleted(fleet: string, image: string): Promise<boolean> {
      const { rows } = await database.query(selectCompleted, [fleet]);
      return rows.find((row) => isSameImage(row.image, image))?.completed === true;
    },
  };
}

const outcomeNames: Record<string, string> = {
  s: "succeeded",
  f: "failed",
  r: "reverted",
  n: "not_reverted",
  x: "left_out",
};

function rolloutRow(rolloutId: string, entry: HistoryEntry): unknown[] {
  return [
    rolloutId,
    entry.image,
    entry.requestedImage,
    entry.wavePercentages,
    entry.state,
    entry.reason ?? null,
    entry.startedBy,
    ...[entry.currentWave, entry.totalWaves, entry.total],
    ...[entry.succeeded, entry.failed, entry.reverted],
    ...[entry.startedAt, entry.updatedAt],
    isEnd(entry) ? entry.updatedAt : null,
    entry.sequence,
    ...shownRow(entry.shown),
    entry.fleet ?? defaultFleet,
    entry.ciRun === undefined ? null : toStorableJson(entry.ciRun),
    entry.shown.approved === undefined ? null : toStorableJson(entry.shown.approved),
    entry.accounts ?? null,
  ];
}

function shownRow(shown: HistoryEntry["shown"]): unknown[] {
  return [
    shown.cause ?? null,
    shown.outcome,
    shown.waitingFor,
    shown.until ?? null,
    JSON.stringify(shown.policy),
    JSON.stringify(shown.waves),
    shown.leftOut,
    shown.ci === undefined ? null : JSON.stringify(shown.ci),
    shown.gate === undefined ? null : toStorableJson(shown.gate),
    shown.gates === undefined ? null : toStorableJson(shown.gates),
    shown.fleetSize ?? null,
  ];
}

function outcomesRow(rolloutId: string, { changes, atMs, totals }: OutcomesEntry): unknown[] {
  const ids = changes.map(({ id }) => id);
  const outcomes = changes.map(({ to }) => outcomeNames[to] ?? null);
  const reasons = changes.map(({ reason }) => reason ?? null);
  const row = [rolloutId, ids, outcomes, reasons, new Date(atMs)];
  const { sequence, succeeded, failed, reverted, updatedAt } = totals ?? {};
  const ofFleet = changes.map((one) => one.ofFleet === true);
  return [...row, sequence, succeeded, failed, reverted, updatedAt, ofFleet];
}

/** Takes the entry's count, unless the row has a newer one from results of deploys. */
function ifNewer(column: string): string {
  return `${column} = CASE WHEN rollouts.sequence < excluded.sequence THEN excluded.${column}
    ELSE rollouts.${column} END`;
}

// The row's sequence increases with results too: a result that arrived first must not suppress a
// delayed transition. The messages show which transitions were written already.
const saveRollout = `
  INSERT INTO rollouts (id, image, requested_image, wave_percentages, state, reason, started_by,
    current_wave, total_waves, total, succeeded, failed, reverted, started_at, updated_at, ended_at,
    sequence, cause, outcome, waiting_for, waits_until, policy, waves, left_out, ci,
    gate, gates, fleet_size, fleet, ci_run, approved, accounts, wave_gates)
  VALUES (${Array.from({ length: 32 }, (_, i) => `$${i + 1}`).join(", ")},
    CASE WHEN $26::jsonb IS NULL THEN '{}' ELSE jsonb_build_object($26::jsonb ->> 'wave', $26::jsonb) END)
  ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, reason = excluded.reason, current_wave = excluded.current_wave,
    total_waves = excluded.total_waves, total = excluded.total, ended_at = excluded.ended_at,
    cause = excluded.cause, outcome = excluded.outcome, waiting_for = excluded.waiting_for,
    waits_until = excluded.waits_until, policy = excluded.policy, gate = coalesce(excluded.gate, rollouts.gate),
    waves = excluded.waves, left_out = excluded.left_out, ci = excluded.ci,
    gates = excluded.gates, fleet_size = excluded.fleet_size,
    approved = excluded.approved, wave_gates = rollouts.wave_gates || excluded.wave_gates,
    ${["succeeded", "failed", "reverted", "updated_at", "sequence"].map(ifNewer).join(", ")}
  WHERE NOT EXISTS (SELECT FROM rollout_messages AS m
    WHERE m.rollout_id = excluded.id AND m.sequence > excluded.sequence)`;

const saveMessage = `
  INSERT INTO rollout_messages (rollout_id, sequence, event, actor, at, message)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`;

// Region and labels are those of the list that the rollout was frozen from, which is in the table by now.
const saveMembers = `
  INSERT INTO rollout_sentinels (rollout_id, sentinel_id, wave, previous_image, outcome, reason,
    updated_at, region, labels)
  SELECT $1, t.id, t.wave, t.previous_image, $5, $6, now(), n.region, nullif(n.labels, '{}')
  FROM unnest($2::integer[], $3::text[], $4::text[]) AS t (wave, id, previous_image)
    LEFT JOIN sentinels AS n ON n.id = t.id
  ON CONFLICT DO NOTHING`;

/** The rank of an outcome in writes without a sequence: of late results, which undo nothing. */
function rankOf(outcome: string): string {
  return `CASE ${outcome} WHEN 'reverted' THEN 3 WHEN 'not_reverted' THEN 2
    WHEN 'succeeded' THEN 1 WHEN 'failed' THEN 1 WHEN 'left_out' THEN 1 ELSE 0 END`;
}

const maxChanges = 20;
const msOf = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;

/** An order from before the rollout, or before the change before this one, is of another deploy. */
const orderedMs = `
  CASE WHEN t.outcome <> 'left_out' AND n.ordered_at <= $5::timestamptz
    AND n.ordered_at >= (SELECT started_at FROM rollouts WHERE id = $1)
    AND ${msOf("n.ordered_at")} >= coalesce((s.changes -> -1 ->> 1)::bigint, 0)
    THEN ${msOf("n.ordered_at")} END`;

const changesAfter = `
  CASE WHEN s.outcome IS NOT DISTINCT FROM t.outcome THEN s.changes
    ELSE (CASE WHEN jsonb_array_length(s.changes) < ${maxChanges} THEN s.changes ELSE s.changes - 0 END)
      || jsonb_build_array(jsonb_build_array(t.outcome, ${msOf("$5::timestamptz")}, ${orderedMs})
        || CASE WHEN t.of_fleet THEN '[true]' ELSE '[]' END::jsonb) END`;

// A failure is replaced by the success of a retry, and a success by a failure in its soak: the later write counts, by
// the rollout's sequence. Without ANY the planner, which knows nothing of a new rollout, would read all of its rows.
const saveOutcomes = `
  WITH totals AS (
    UPDATE rollouts SET succeeded = $7, failed = $8, reverted = $9, updated_at = $10, sequence = $6
    WHERE id = $1 AND sequence < $6
  ), changed AS (
    UPDATE rollout_sentinels AS s SET outcome = t.outcome, reason = t.reason, updated_at = $5::timestamptz,
      sequence = coalesce($6::bigint, s.sequence), changes = ${changesAfter},
      failure = CASE WHEN t.outcome = 'failed' THEN coalesce(t.reason, 'unknown')
        WHEN t.outcome IN ('reverted', 'not_reverted') THEN s.failure END
    FROM unnest($2::text[], $3::text[], $4::text[], $11::boolean[]) AS t (id, outcome, reason, of_fleet)
      LEFT JOIN sentinels AS n ON n.id = t.id
    WHERE s.rollout_id = $1 AND s.sentinel_id = ANY($2) AND s.sentinel_id = t.id
      AND (s.outcome, s.reason) IS DISTINCT FROM (t.outcome, t.reason)
      AND CASE WHEN $6::bigint IS NULL
        THEN ${rankOf("t.outcome")} > ${rankOf("s.outcome")} OR t.outcome = s.outcome
        ELSE s.sequence <= $6::bigint END
  )
  SELECT count(*)::int AS known FROM rollout_sentinels WHERE rollout_id = $1 AND sentinel_id = ANY($2)`;

const selectSucceeded = `
  SELECT sentinel_id AS id FROM rollout_sentinels WHERE rollout_id = $1 AND outcome = 'succeeded'`;

const recount = `
  UPDATE rollouts SET
    succeeded = (SELECT count(*) FROM rollout_sentinels
                 WHERE rollout_id = $1 AND outcome IN ('succeeded', 'not_reverted')),
    failed = (SELECT count(*) FROM rollout_sentinels WHERE rollout_id = $1 AND outcome = 'failed'),
    reverted = (SELECT count(*) FROM rollout_sentinels WHERE rollout_id = $1 AND outcome = 'reverted')
  WHERE id = $1`;

// Sentinels had failed before also while a rollback waited for what was in flight.
const listRollouts = `
  SELECT *, CASE WHEN reverted = 0 THEN 0 ELSE (SELECT count(*)::int FROM rollout_sentinels AS s
    WHERE s.rollout_id = rollouts.id AND s.outcome = 'reverted' AND s.failure IS NOT NULL) END AS failed_before
  FROM rollouts WHERE fleet = $3 AND ($2::text IS NULL
    OR (started_at, id) < (SELECT started_at, id FROM rollouts WHERE id = $2))
  ORDER BY started_at DESC, id DESC LIMIT $1`;

const newestRollouts = `
  SELECT newest.* FROM unnest($1::text[]) AS t (name) CROSS JOIN LATERAL
    (SELECT * FROM rollouts WHERE fleet = t.name ORDER BY started_at DESC, id DESC LIMIT 1) AS newest`;

// The newest of each image.
const selectCompleted = `
  SELECT * FROM (
    SELECT DISTINCT ON (image) image, started_at, id,
      outcome IS NOT DISTINCT FROM 'completed' AND (total > 0 OR left_out = 0) AS completed
    FROM rollouts WHERE fleet = $1 ORDER BY image, started_at DESC, id DESC) AS newest
  ORDER BY started_at DESC, id DESC`;

// biome-ignore lint/suspicious/noExplicitAny: a row with the columns of the query above
function toRollout(row: any): Omit<RolloutHistory["rollouts"][number], "failed_before"> {
  const gate_checks = checksOf(row.gates ?? []);
  const { current_wave, total_waves, total, succeeded, failed, reverted } = row;
  return {
    rollout_id: row.id,
    image: row.image,
    state: row.state,
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.cause !== null && { cause: row.cause }),
    outcome: row.outcome,
    waiting_for: row.waiting_for,
    ...(row.waits_until !== null && { until: row.waits_until.toISOString() }),
    policy: row.policy,
    ...(row.ci !== null && { ci: row.ci }),
    ...(gate_checks.length > 0 && { gate_checks }),
    ...(row.gates !== null && { gates: row.gates }),
    ...(row.gate !== null && { gate: row.gate }),
    started_by: row.started_by,
    ...(row.ci_run !== null && { ci_run: row.ci_run }),
    wave_percentages: row.wave_percentages,
    ...{ current_wave, total_waves, total, succeeded, failed, reverted },
    left_out: row.left_out,
    started_at: row.started_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}
