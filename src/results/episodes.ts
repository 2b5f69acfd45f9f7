/** Keeps when alerts opened and resolved, and when the receiver had them; many in one statement. */
import type { Database } from "#kernel/database.ts";
import type { AlertTransition } from "#monitor/contract.ts";

/** `deliveredAtMs`: when the receiver accepted the event; null: that is not what is noted. */
export type EpisodeNote = { event: AlertTransition; deliveredAtMs: number | null };

/**
 * Whatever order the notes of an episode come in, and however often: what is known of it stays, and the
 * first delivery of an event counts.
 */
export async function keepEpisodes(
  database: Database,
  notes: readonly EpisodeNote[],
): Promise<void> {
  const rows = new Map<string, EpisodeRow>();
  for (const note of notes) {
    const { checkId, episode } = note.event;
    const key = JSON.stringify([checkId, episode]);
    const row = toRow(note);
    rows.set(key, { ...row, ...withoutNull(rows.get(key)) });
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

function withoutNull(row: EpisodeRow | undefined): Partial<EpisodeRow> {
  return Object.fromEntries(Object.entries(row ?? {}).filter(([, value]) => value !== null));
}

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
    resolved_at = coalesce(known.resolved_at, excluded.resolved_at),
    missed_pings = coalesce(known.missed_pings, excluded.missed_pings),
    opened_delivered_at = coalesce(known.opened_delivered_at, excluded.opened_delivered_at),
    resolved_delivered_at = coalesce(known.resolved_delivered_at, excluded.resolved_delivered_at)`;
