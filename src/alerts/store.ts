/** The table `alert_events`. */
import type { AlertEventList, AlertEventListRequest, AlertEventView } from "#alerts/contract.ts";
import type { Database, Queries } from "#kernel/database.ts";
import { toStorableJson } from "#kernel/text.ts";
import { channelOf, eventIdOf, type NoticeOrder, type Order, type RoutedOrder } from "./order.ts";
import { tokenRefused } from "./outcome.ts";
import type { StoredOrder } from "./preview.ts";
import type { EventRecord } from "./queue.ts";

export type EventStore = ReturnType<typeof createEventStore>;

/** The numbers of events that an operator has to watch. */
export type EventCounts = {
  pending: number;
  dead: number;
  oldestPendingSeconds: number;
  /** The number of pending ones whose last attempt failed because the source's token was refused. */
  tokenRefused: number;
};

export type FoundEvent = { view: AlertEventView; order: StoredOrder };

export function createEventStore(database: Database) {
  return {
    async dropOlderThan(days: number): Promise<void> {
      await database.query(dropOld, [days]);
    },

    async list({ status, check, limit }: AlertEventListRequest): Promise<AlertEventList> {
      const { rows } = await database.query(listEvents, [status ?? null, check ?? null, limit]);
      return { events: rows.map(toView) };
    },

    /** The event and the order it was rendered from; null: it is unknown, or deleted after `keepDays`. */
    async find(eventId: string): Promise<FoundEvent | null> {
      const { rows } = await database.query(findEvent, [eventId]);
      return rows.map(toFound)[0] ?? null;
    },

    async count(): Promise<EventCounts> {
      const { rows } = await database.query(countOpen, [tokenRefused]);
      return rows[0] as EventCounts;
    },
  };
}

/** Writes one row per event: the last of its records. */
export async function saveEvents(db: Queries, records: readonly EventRecord[]): Promise<void> {
  const rows = new Map(records.map((record) => [eventIdOf(record.entry.order), record]));
  await db.query(upsertEvents, [toStorableJson([...rows.values()].map(toRow))]);
}

/** Stores who sends the events again. */
export async function saveRetry(db: Queries, eventIds: readonly string[], by: string) {
  await db.query(noteRetry, [eventIds, by]);
}

function toRow({ entry, status, nextAttemptAtMs, acceptedAtMs }: EventRecord) {
  const { order, attempts, cause, queuedAtMs } = entry;
  const { atMs } = order.transition ?? order;
  return {
    ...contentOf(order),
    channel: channelOf(order),
    status,
    attempts,
    cause,
    event_at: new Date(atMs),
    queued_at: new Date(queuedAtMs),
    next_attempt_at: nextAttemptAtMs === null ? null : new Date(nextAttemptAtMs),
    accepted_at: acceptedAtMs === null ? null : new Date(acceptedAtMs),
  };
}

function contentOf(order: Order) {
  if ("notice" in order) {
    const { eventId: event_id, notice, topic } = order;
    return { event_id, name: notice.title, kind: "notice", notice, topic };
  }
  const { transition, environment, name } = order;
  const { eventId: event_id, checkId: check_id, episode, kind } = transition;
  return { event_id, check_id, name, episode, kind, environment, transition };
}

const upsertEvents = `
  INSERT INTO alert_events (event_id, check_id, name, episode, kind, environment, channel, transition,
    notice, topic, status, attempts, cause, event_at, queued_at, next_attempt_at, accepted_at)
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS t (event_id text, check_id text, name text,
    episode integer, kind text, environment text, channel text, transition jsonb, notice jsonb,
    topic text, status text,
    attempts integer, cause text, event_at timestamptz, queued_at timestamptz,
    next_attempt_at timestamptz, accepted_at timestamptz)
  ON CONFLICT (event_id) DO UPDATE SET
    status = excluded.status, attempts = excluded.attempts, cause = excluded.cause,
    queued_at = excluded.queued_at, next_attempt_at = excluded.next_attempt_at,
    accepted_at = excluded.accepted_at`;

// Only the transaction that has locked a queue changes its events.
const noteRetry = "UPDATE alert_events SET retried_by = $2 WHERE event_id = ANY ($1)";

const dropOld = `
  DELETE FROM alert_events
  WHERE queued_at < now() - make_interval(days => $1) AND status NOT IN ('pending', 'dead')
    -- Those of a rollout are kept with its history.
    AND notice IS NULL`;

const listEvents = `
  SELECT * FROM alert_events
  WHERE ($2::text IS NULL OR check_id = $2) AND
    CASE WHEN $1::text IS NULL THEN notice IS NULL OR status <> 'not_posted' ELSE status = $1 END
  ORDER BY queued_at DESC, check_id, episode DESC, kind DESC LIMIT $3`;

const findEvent = "SELECT * FROM alert_events WHERE event_id = $1";

const countOpen = `
  SELECT count(*) FILTER (WHERE status = 'pending')::integer AS pending,
    count(*) FILTER (WHERE status = 'dead')::integer AS dead,
    coalesce(extract(epoch FROM now() - min(queued_at) FILTER (WHERE status = 'pending')), 0)::float
      AS "oldestPendingSeconds",
    count(*) FILTER (WHERE status = 'pending' AND starts_with(cause, $1))::integer
      AS "tokenRefused"
  FROM alert_events WHERE status IN ('pending', 'dead')`;

type Times = "event_at" | "queued_at" | "next_attempt_at" | "accepted_at";

type Row = Omit<AlertEventView, Times | "delay_ms"> & {
  event_at: Date;
  queued_at: Date;
  next_attempt_at: Date | null;
  accepted_at: Date | null;
  transition: RoutedOrder["transition"] | null;
  notice: NoticeOrder["notice"] | null;
  topic: string | null;
};

function toFound(row: Row): FoundEvent {
  const { event_id: eventId, environment, channel, name, transition, notice, topic } = row;
  const order =
    transition === null
      ? { eventId, notice, topic, channel, atMs: row.event_at.getTime() }
      : { environment, channel, name, transition };
  return { view: toView(row), order: order as StoredOrder };
}

function toView(row: Row): AlertEventView {
  const { event_at, queued_at, next_attempt_at, accepted_at, ...rest } = row;
  const { transition: _, notice: _notice, topic: _topic, ...same } = rest;
  return {
    ...same,
    event_at: event_at.toISOString(),
    queued_at: queued_at.toISOString(),
    next_attempt_at: next_attempt_at?.toISOString() ?? null,
    accepted_at: accepted_at?.toISOString() ?? null,
    delay_ms: accepted_at === null ? null : Math.max(0, accepted_at.getTime() - event_at.getTime()),
  };
}
