/**
 * The tables `alert_queues` and `alert_outbox`: takes the queues that are due, and stores the outcomes of their
 * attempts with the records of the events. A lease, which its process renews, keeps others from a queue while an attempt
 * runs. Rows of queues are locked before those of events. Times are Postgres'.
 */
import { type Database, inTransaction, type Queries } from "#kernel/database.ts";
import { isOfData, whyUnwritable } from "#kernel/database-faults.ts";
import type { Log } from "#kernel/log.ts";
import { toStorableJson } from "#kernel/text.ts";
import type { AlertTransition, DrillOutcome } from "./contract.ts";
import { drilledChannelOf, type Order } from "./order.ts";
import { goOn } from "./outbox.ts";
import type { Outcome } from "./outcome.ts";
import {
  applyOutcome,
  type Entry,
  type EventRecord,
  emptyQueue,
  fold,
  type Queue,
  retry,
  type Step,
} from "./queue.ts";
import { saveEvents, saveRetry } from "./store.ts";

/** An event to attempt now, in a queue that is leased to this process. */
export type DueAttempt = { key: string; generation: number; post: Entry };

export type EndedAttempt = DueAttempt & { outcome: Outcome; endedAtMs: number };

/** `next` is due at once. null `step`: another process has the queue, and the outcome was dropped. */
export type StoredAttempt = { next: DueAttempt | null; step: Step | null };

export type AcceptedEvent = { event: AlertTransition; atMs: number };

/** Called in the transaction that stores that receivers accepted events. */
export type RecordAccepted = (db: Queries, events: readonly AcceptedEvent[]) => Promise<void>;

type StoreParts = {
  database: Database;
  giveUpAfterMs: number;
  recordAccepted: RecordAccepted;
  log: Log;
};

/** `held`: the keys of queues that this process has. `crowded`: channels with too many attempts, empty of the sources. */
type Wanted = { limit: number; held: readonly string[]; crowded: readonly string[] };

export type QueueStore = ReturnType<typeof createQueueStore>;

export function createQueueStore(parts: StoreParts) {
  const { database, giveUpAfterMs } = parts;
  return {
    /** Takes queues that are due or have new orders. `isMore`: there may be others. */
    take: (wanted: Wanted) =>
      recording(parts, async (db, save) => {
        const rows = await lockDue(db, wanted);
        const steps = rows.map((row) => {
          return { key: row.key, ...decideOr(parts, row, () => foldRow(row)) };
        });
        await storeSteps(db, steps, save);
        const isMore = (rows[0]?.found ?? 0) >= wanted.limit;
        return { isMore, due: steps.flatMap((step) => dueOf(step) ?? []) };
      }),

    /** Applies outcomes, in the order given. */
    finish: (ended: readonly EndedAttempt[]): Promise<StoredAttempt[]> =>
      recording(parts, async (db, save) => {
        const queues = await lockQueues(db, ended);
        const steps = ended.map((one) => {
          const { queue = null, nowMs = 0 } = queues.get(one.key) ?? {};
          if (queue === null || !isCurrent(queue, one)) return null;
          const apply = () => applyOutcome(queue, resultOf(one, nowMs), giveUpAfterMs);
          return { key: one.key, ...decideOr(parts, { key: one.key, queue }, apply) };
        });
        await storeSteps(
          db,
          steps.filter((step) => step !== null),
          save,
        );
        return steps.map((step) => ({ next: step && dueOf(step), step }));
      }),

    /** Sends an event again. An attempt that is under way ends first. */
    retry: (of: { key: string; eventId: string; by: string }) =>
      recording(parts, async (db, save) => {
        const { key, eventId, by } = of;
        const row = (await lockQueues(db, [{ key }])).get(key);
        const answer = row && retry(row.queue ?? emptyQueue, eventId, row.nowMs);
        if (answer == null || answer === "superseded") return answer ?? null;
        await db.query(storeQueue, [key, toStorableJson(answer.queue)]);
        await save(answer.records);
        await saveRetry(db, answer.eventIds, by);
        if (answer.isDue) await goOn(db, [key]);
        return answer.eventIds;
      }),

    /** Extends the leases of queues that still have this generation. */
    renew: (held: readonly Pick<DueAttempt, "key" | "generation">[]) =>
      database.query(renewLeases, [
        held.map(({ key }) => key),
        held.map(({ generation }) => generation),
      ]),

    /** Makes queues due whose times are far ahead: the clock was set back since. Reads all of them. */
    correct: () => database.query(correctTimes),

    /** Outcomes that their drills have not got yet. */
    async readDrillOutcomes(): Promise<{ key: string; outcomes: DrillOutcome[] }[]> {
      const { rows } = await database.query(findDrillOutcomes);
      return rows;
    },

    async dropDrillOutcomes(key: string, outcomes: readonly DrillOutcome[]): Promise<void> {
      await database.query(dropOutcomes, [key, toStorableJson(outcomes)]);
    },
  };
}

function foldRow({ queue, orders, isDue, nowMs }: TakenRow): Step {
  return fold(queue ?? emptyQueue, {
    orders: (orders ?? []).filter((order) => order !== null),
    isDue: isDue || (orders ?? []).includes(null),
    nowMs,
  });
}

/** A queue that cannot be decided, of another version for example, is left for a minute: it must not stop the others. */
function decideOr(
  { log }: StoreParts,
  { key, queue }: Pick<QueueRow, "key" | "queue">,
  decide: () => Step,
): Step {
  try {
    return decide();
  } catch (err) {
    log.error({ err, key }, "alert queue not decided");
    return { queue: queue ?? emptyQueue, post: null, retryAfterMs: 60_000, records: [] };
  }
}

type SaveRecords = (records: readonly EventRecord[]) => Promise<void>;

type Work<Result> = (db: Queries, save: SaveRecords) => Promise<Result>;

/** Runs a transaction. If data of a record can never be written it is run again, and gives up that record alone. */
async function recording<Result>(parts: StoreParts, work: Work<Result>): Promise<Result> {
  const { database } = parts;
  const write = async (db: Queries, records: readonly EventRecord[]) => {
    if (records.length > 0) await saveEvents(db, records);
    const accepted = records.flatMap(acceptedOf);
    if (accepted.length > 0) await parts.recordAccepted(db, accepted);
  };
  try {
    return await inTransaction(database, (db) => work(db, (records) => write(db, records)));
  } catch (error) {
    if (!isOfData(error)) throw error;
  }
  return inTransaction(database, (db) =>
    work(db, async (records) => {
      for (const one of records) {
        await db.query("SAVEPOINT record");
        const fault = await whyUnwritable(() => write(db, [one]));
        if (fault === null) continue;
        await db.query("ROLLBACK TO SAVEPOINT record");
        parts.log.error({ fault }, "alert record given up");
      }
    }),
  );
}

export function acceptedOf({ entry, acceptedAtMs }: EventRecord): AcceptedEvent[] {
  const { transition: event } = entry.order;
  if (acceptedAtMs === null || event === undefined) return [];
  return event.isOfChannel === true || event.drill !== undefined
    ? []
    : [{ event, atMs: acceptedAtMs }];
}

/** Empty: it is no failure of a drill, or it waits for its next attempt. */
export function drillOutcomesOf({ entry, status }: EventRecord): DrillOutcome[] {
  const { transition } = entry.order;
  if (transition?.drill === undefined) return [];
  const { kind, drill, episode } = transition;
  if (kind !== "opened" || status === "pending") return [];
  return [{ drill, episode, channel: drilledChannelOf(entry.order), status }];
}

type KeyedStep = Step & { key: string };

function dueOf({ key, queue: { generation }, post }: KeyedStep): DueAttempt | null {
  return post && { key, generation, post };
}

/** False if another process has repeated the attempt, or its outcome is stored already. */
function isCurrent({ generation, waiting }: Queue, { generation: own, post }: DueAttempt): boolean {
  return generation === own && waiting.some(({ sequence }) => sequence === post.sequence);
}

/** The acceptance was before the database was asked. */
function resultOf({ post, outcome, endedAtMs }: EndedAttempt, nowMs: number) {
  const atMs = Math.round(nowMs - (performance.now() - endedAtMs));
  return { sequence: post.sequence, outcome, atMs, random: Math.random() };
}

type QueueRow = { key: string; queue: Queue | null; nowMs: number };

type TakenRow = QueueRow & { isDue: boolean; orders: (Order | null)[] | null; found: number };

async function lockDue(db: Queries, { limit, held, crowded }: Wanted) {
  const { rows } = await db.query<TakenRow>(takeDue, [held, crowded, limit]);
  return rows;
}

async function lockQueues(db: Queries, queues: readonly { key: string }[]) {
  const { rows } = await db.query<QueueRow>(lockByKey, [queues.map(({ key }) => key)]);
  return new Map(rows.map((row) => [row.key, row]));
}

async function storeSteps(db: Queries, steps: readonly KeyedStep[], save: SaveRecords) {
  if (steps.length === 0) return;
  await db.query(updateQueues, [toStorableJson(steps.map(toRow))]);
  await save(steps.flatMap(({ records }) => records));
}

function toRow({ key, queue, post, retryAfterMs, records }: KeyedStep) {
  const outcomes = records.flatMap(drillOutcomesOf);
  return {
    key,
    queue,
    is_attempted: post !== null,
    // Its next attempt was planned before.
    is_planned: post === null && retryAfterMs === null && queue.waiting.length > 0,
    after_ms: retryAfterMs,
    ...(outcomes.length > 0 && { outcomes }),
  };
}

const now = `(round(extract(epoch FROM clock_timestamp()) * 1000))::float8 AS "nowMs"`;
const isLeased = "coalesce(q.leased_until > statement_timestamp(), false)";
const dueAt = "coalesce(q.leased_until, q.due_at)";
const isWanted = "q.key <> ALL ($1) AND split_part(q.key, '@', 2) <> ALL ($2)";
const leaseEnd = "clock_timestamp() + interval '5 s'";

// Arrays, so that the indexes are used whatever the planner knows of these tables. A row that another process has
// changed meanwhile is tested again; what that took from the outbox is not deleted twice, and what is newer stays there.
const takeDue = `
  WITH found AS (
    (SELECT q.key FROM alert_queues q WHERE ${dueAt} <= statement_timestamp() AND ${isWanted}
      ORDER BY ${dueAt} LIMIT $3)
    UNION ALL
    (SELECT q.key FROM alert_outbox o JOIN alert_queues q ON q.key = o.queue
      WHERE NOT ${isLeased} AND ${isWanted} ORDER BY o.seq LIMIT $3)
  ), locked AS (
    SELECT q.key, q.queue, coalesce(${dueAt} <= statement_timestamp(), true) AS "isDue"
    FROM alert_queues q WHERE q.key = ANY (ARRAY(SELECT key FROM found)) AND NOT ${isLeased}
    FOR UPDATE SKIP LOCKED
  ), taken AS (
    DELETE FROM alert_outbox WHERE queue = ANY (ARRAY(SELECT key FROM locked)) RETURNING *
  )
  SELECT locked.*, ${now}, news.orders, (SELECT count(*)::integer FROM found) AS found
  FROM locked LEFT JOIN (
    SELECT queue AS key, jsonb_agg(order_ ORDER BY seq) AS orders FROM taken GROUP BY queue
  ) news USING (key)`;

const lockByKey = `SELECT key, queue, ${now} FROM alert_queues WHERE key = ANY ($1) ORDER BY key FOR UPDATE`;

const updateQueues = `
  UPDATE alert_queues q SET queue = t.queue,
    due_at = CASE WHEN t.is_planned THEN q.due_at
      ELSE clock_timestamp() + t.after_ms * interval '1 ms' END,
    leased_until = CASE WHEN t.is_attempted THEN ${leaseEnd} END,
    drill_outcomes = CASE WHEN t.outcomes IS NULL THEN q.drill_outcomes
      ELSE coalesce(q.drill_outcomes, '[]') || t.outcomes END
  FROM jsonb_to_recordset($1::jsonb) AS t (key text, queue jsonb, is_attempted boolean,
    is_planned boolean, after_ms float8, outcomes jsonb)
  WHERE q.key = t.key`;

const storeQueue = "UPDATE alert_queues SET queue = $2 WHERE key = $1";

// One whose outcome is being stored needs no lease.
const renewLeases = `
  WITH locked AS (
    SELECT q.key FROM alert_queues q
    JOIN unnest($1::text[], $2::integer[]) AS held (key, generation) USING (key)
    WHERE (q.queue ->> 'generation')::integer = held.generation AND q.leased_until IS NOT NULL
    FOR UPDATE OF q SKIP LOCKED
  )
  UPDATE alert_queues q SET leased_until = ${leaseEnd} FROM locked WHERE q.key = locked.key`;

const correctTimes = `
  UPDATE alert_queues SET due_at = clock_timestamp(), leased_until = NULL
  WHERE due_at > clock_timestamp() + interval '6 min' OR leased_until > clock_timestamp() + interval '10 s'`;

const findDrillOutcomes = `
  SELECT key, drill_outcomes AS outcomes FROM alert_queues WHERE drill_outcomes IS NOT NULL LIMIT 100`;

const dropOutcomes =
  "UPDATE alert_queues SET drill_outcomes = NULL WHERE key = $1 AND drill_outcomes = $2::jsonb";
