/** Keeps when alerts opened and resolved, and when the receiver had them; many in one statement. */
import type { AlertTransition } from "#alerts/contract.ts";
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";

/** `deliveredAtMs`: when the receiver accepted the event; null: that is not what is noted. */
export type EpisodeNote = { event: AlertTransition; deliveredAtMs: number | null };

/**
 * Whatever order the notes of an episode come in, and however often: what is known of it stays, and the
 * first delivery of an event counts. One that opened later under the same number takes its place: a check
 * of which Restate has lost everything counts from 1 again.
 */
export async function keepEpisodes(
  database: Database,
  notes: readonly EpisodeNote[],
): Promise<void> {
  const rows = new Map<string, EpisodeRow>();
  for (const note of notes) {
    const { checkId, episode } = note.event;
    const key = JSON.stringify([checkId, episode]);
    rows.set(key, merge(rows.get(key), toRow(note)));
  }
  await database.query(saveEpisodes, [JSON.stringify([...rows.values()])]);
}

type EpisodeRow = ReturnType<typeof toRow>;

function toRow({ event, deliveredAtMs }: EpisodeNote) {
  const isOver = event.kind === "resolved";
  const deliveredAt = deliveredAtMs === null ? null : new Date(deliveredAtMs);
  return {
    check_id: event.checkId,
    episode: event.episode,
    opened_at: new Date(event.openedAtMs),
    resolved_at: isOver ? new Date(event.atMs) : null,
    reason: event.reason,
    locations: event.locations,
    missed_pings: event.missedPings,
    rollout_id: event.rollout?.rolloutId ?? null,
    rollout_wave: event.rollout?.wave ?? null,
    opened_delivered_at: isOver ? null : deliveredAt,
    resolved_delivered_at: isOver ? deliveredAt : null,
  };
}

function merge(known: EpisodeRow | undefined, given: EpisodeRow): EpisodeRow {
  const isAnother = known?.opened_at.getTime() !== given.opened_at.getTime();
  if (known !== undefined && isAnother) return known.opened_at > given.opened_at ? known : given;
  return { ...given, ...withoutNull(known) };
}

function withoutNull(row: EpisodeRow | undefined): Partial<EpisodeRow> {
  return Object.fromEntries(Object.entries(row ?? {}).filter(([, value]) => value !== null));
}

/** All that the two ends of an episode, and those before it, may know differently. */
const keptColumns = [
  "opened_at",
  "reason",
  "locations",
  "rollout_id",
  "rollout_wave",
  "resolved_at",
  "missed_pings",
  "opened_delivered_at",
  "resolved_delivered_at",
];

/** One that a wrong clock opened ahead is no later one. */
const isLater = `(excluded.opened_at > known.opened_at
  OR excluded.opened_at < known.opened_at AND ${aheadInSql("known.opened_at")})`;

/** As it is known; of a later episode as it is given. */
const newer = (column: string) =>
  `${column} = CASE WHEN ${isLater} THEN excluded.${column}
    ELSE coalesce(known.${column}, excluded.${column}) END`;

// Rows are locked in one order: two processes never wait for each other.
const saveEpisodes = `
  INSERT INTO check_episodes AS known (check_id, episode, opened_at, resolved_at, reason, locations,
    missed_pings, rollout_id, rollout_wave, opened_delivered_at, resolved_delivered_at)
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS t (check_id text, episode integer,
    opened_at timestamptz, resolved_at timestamptz, reason text, locations text[],
    missed_pings integer, rollout_id text, rollout_wave integer,
    opened_delivered_at timestamptz, resolved_delivered_at timestamptz)
  ORDER BY check_id, episode
  ON CONFLICT (check_id, episode) DO UPDATE SET
    ${keptColumns.map(newer).join(",\n    ")}
  WHERE excluded.opened_at = known.opened_at OR ${isLater}`;
