/** Stores when alerts opened, resolved and were delivered; many in one statement. */
import type { AlertTransition } from "#alerts/contract.ts";
import type { Queries } from "#kernel/database.ts";
import { toStorableJson } from "#kernel/text.ts";

/** `deliveredAtMs`: when the receiver accepted the event; null: the note is of the transition itself. */
export type EpisodeRecord = { event: AlertTransition; deliveredAtMs: number | null };

/**
 * Stores the notes of episodes, in any order and idempotently: a value that is stored does not change, and
 * the first delivery of an event counts. An episode with the same number that opened later replaces the
 * stored one, because a check whose state was lost counts from 1 again.
 */
export async function saveEpisodes(
  database: Queries,
  notes: readonly EpisodeRecord[],
): Promise<void> {
  const rows = new Map<string, EpisodeRow>();
  for (const note of notes) {
    const { checkId, episode } = note.event;
    const key = JSON.stringify([checkId, episode]);
    rows.set(key, merge(rows.get(key), toRow(note)));
  }
  await database.query(upsertEpisodes, [toStorableJson([...rows.values()])]);
}

type EpisodeRow = ReturnType<typeof toRow>;

function toRow({ event, deliveredAtMs }: EpisodeRecord) {
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
    rollout: event.rollout,
    changes: event.changes ?? null,
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

/** The columns that can differ between the notes of an episode, or between two episodes of one number. */
const mergedColumns = [
  "opened_at",
  "reason",
  "locations",
  "rollout",
  "changes",
  "resolved_at",
  "missed_pings",
  "opened_delivered_at",
  "resolved_delivered_at",
];

/** The stored value if there is one; for a later episode the given one. */
const mergeColumn = (column: string) =>
  `${column} = CASE WHEN excluded.opened_at > known.opened_at THEN excluded.${column}
    ELSE coalesce(known.${column}, excluded.${column}) END`;

// Rows are locked in one order, so that two processes never deadlock.
const upsertEpisodes = `
  INSERT INTO check_episodes AS known (check_id, episode, opened_at, resolved_at, reason, locations,
    missed_pings, rollout, changes, opened_delivered_at, resolved_delivered_at)
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS t (check_id text, episode integer,
    opened_at timestamptz, resolved_at timestamptz, reason text, locations text[],
    missed_pings integer, rollout jsonb, changes jsonb,
    opened_delivered_at timestamptz, resolved_delivered_at timestamptz)
  ORDER BY check_id, episode
  ON CONFLICT (check_id, episode) DO UPDATE SET
    ${mergedColumns.map(mergeColumn).join(",\n    ")}
  WHERE excluded.opened_at >= known.opened_at`;
