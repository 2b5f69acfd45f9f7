/**
 * The deadlines of heartbeats that are ok, in Postgres: a ping moves none, and Restate is called only for
 * those that have passed. A timer for each would cost more than everything else together. Of a heartbeat by cron
 * the allowance is 0: `due_at` is the end of the window of its next time, at which its object is called; the object
 * knows whether a ping came for it, and what the time after it is.
 */
import type { Database } from "#kernel/database.ts";
import { aheadInSql } from "#kernel/time.ts";
import type { Heartbeat } from "#monitor/contract.ts";
import { findAway } from "#monitor/rules/absences.ts";
import { allowanceMs, type PassedDeadlines } from "#monitor/rules/deadline.ts";
import { isPingedByUs } from "#monitor/rules/own-jobs.ts";
import { readAbsences } from "./presence.ts";

export type Deadlines = ReturnType<typeof createDeadlines>;

export function createDeadlines(database: Database) {
  return {
    /**
     * Writes periods and graces that have changed. A heartbeat that one of our own jobs pings, and a drill, is
     * expected from now on, unless it was before. A ping URL that a drill has is void: nobody else pings it.
     */
    async adopt(heartbeats: readonly Heartbeat[]): Promise<void> {
      await database.query(adoptAllowances, [
        heartbeats.map(({ id }) => id),
        heartbeats.map(allowanceMs),
      ]);
      const ours = heartbeats.filter(isPingedByUs);
      if (ours.length === 0) return;
      await database.query(expectOurs, [ours.map(({ id }) => id), ours.map(allowanceMs)]);
      const drills = ours.filter(({ drill }) => drill !== undefined).map(({ id }) => id);
      if (drills.length > 0) await database.query(voidTokens, [drills]);
    },

    /** The heartbeats that are watched by their objects: never pinged, or not plainly ok. */
    async watched(): Promise<string[]> {
      const { rows } = await database.query("SELECT id FROM heartbeats WHERE is_watched");
      return rows.map(({ id }) => id);
    },

    /**
     * Finds the deadlines that have passed; null: none, or it is not known yet whether pings could be
     * taken. Each of those heartbeats is watched from then on. It is found again after 5 s, unless it was
     * postponed.
     */
    async findPassed(): Promise<PassedDeadlines | null> {
      const { rows } = await database.query(takePassed);
      const passed = rows.filter(({ is_watched }) => is_watched);
      const [first] = passed;
      if (first === undefined) return null;
      const { spans, isDoubtful } = await readAbsences(database);
      if (isDoubtful) return null;
      return {
        overdue: passed.map(({ id, last_ping_at, missed_at, at }) => ({
          id,
          lastPingAtMs: last_ping_at?.getTime() ?? null,
          away: findAway(spans, (missed_at ?? at).getTime()),
        })),
        atMs: first.at.getTime(),
        lease: first.due_at,
      };
    },

    /**
     * Replaces times that were recorded while a clock was ahead: without it the deadline of that heartbeat would
     * not be checked until then. Reads all rows, so call it rarely.
     */
    async correct(): Promise<void> {
      await database.query(correctTimes);
    },

    /** Once Restate has the calls to their objects: they are not found again for `untilFoundAgain`. */
    async postpone({ overdue, lease }: PassedDeadlines): Promise<void> {
      await database.query(endLease, [overdue.map(({ id }) => id), lease]);
    },

    /** Ms until something is due; null: there is no heartbeat. */
    async next(): Promise<number | null> {
      const { rows } = await database.query(untilNext);
      return rows[0]?.in_ms ?? null;
    },
  };
}

// Rows are locked in one order, that of the ids, as those of pings are: neither waits for the other.
const adoptAllowances = `
  WITH given AS (
    SELECT id, ms * interval '1 ms' AS allowance
    FROM unnest($1::text[], $2::float8[]) AS t (id, ms)
  ), locked AS (
    SELECT h.id, given.allowance FROM heartbeats h JOIN given USING (id)
    -- The rules of summer time may have changed with the version of Node: crons are asked again.
    WHERE given.allowance <> h.allowance OR given.allowance = interval '0' ORDER BY h.id FOR UPDATE OF h
  )
  UPDATE heartbeats h SET
    allowance = locked.allowance,
    due_at = CASE WHEN h.is_watched THEN h.due_at ELSE h.last_ping_at + locked.allowance END
  FROM locked WHERE locked.id = h.id`;

// Due at once, so that its object is called, from which the first deadline counts.
const expectOurs = `
  INSERT INTO heartbeats (id, allowance, due_at)
  SELECT id, ms * interval '1 ms', clock_timestamp()
  FROM unnest($1::text[], $2::float8[]) AS t (id, ms) ORDER BY id
  ON CONFLICT (id) DO NOTHING`;

// A drill may have been a heartbeat with a ping URL.
const voidTokens = `
  WITH locked AS (
    SELECT id FROM heartbeats WHERE id = ANY ($1::text[]) AND token_hash IS NOT NULL
    ORDER BY id FOR UPDATE
  )
  UPDATE heartbeats h SET token_hash = NULL, registered_by = NULL
  FROM locked WHERE locked.id = h.id`;

/**
 * A watched heartbeat is found again this often, and its object called to confirm that it is watching: it or
 * Postgres may have lost its state, or a statement of a killed process may have come late.
 */
export const untilFoundAgain = "interval '10 min'";

/**
 * Pings are written in groups, this far apart unless many wait: three writes for each ping would be most of the cost
 * of monitoring, and a job can wait that long.
 */
export const pingPaceMs = 100;

/** A ping may wait this long until its group is written: a deadline that it met has not passed. */
export const untilStoredMs = pingPaceMs + 20;
const untilStored = `interval '${untilStoredMs} ms'`;

// Deadlines before which a ping came are moved up to 10 s before they pass, many together: those that remain
// when they pass are overdue. A locked row is being pinged or handed over, and is left for the next time.
// `now` and `near` are scalar subqueries: with joins Postgres would read the whole table each time.
const takePassed = `
  WITH now AS (
    SELECT date_trunc('milliseconds', clock_timestamp() - ${untilStored}) AS at
  ), near AS (
    SELECT id FROM heartbeats
    WHERE due_at <= (SELECT at FROM now) + interval '10 s'
      AND (due_at <= (SELECT at FROM now) OR NOT is_watched AND last_ping_at + allowance > due_at)
    ORDER BY due_at LIMIT 1000 FOR UPDATE SKIP LOCKED
  )
  UPDATE heartbeats h SET
    is_watched = h.is_watched OR h.last_ping_at + h.allowance <= now.at,
    due_at = CASE
      WHEN h.is_watched OR h.last_ping_at + h.allowance <= now.at THEN now.at + interval '5 s'
      ELSE h.last_ping_at + h.allowance
    END
  FROM now
  WHERE h.id = ANY (ARRAY (SELECT id FROM near))
  RETURNING h.id, h.last_ping_at, h.is_watched, h.due_at, now.at,
    h.last_ping_at + h.allowance AS missed_at`;

// The next time of a cron is known to the object alone: it may be years ahead.
const isByCron = "allowance = interval '0' AND NOT is_watched";
const longestWait = `CASE WHEN is_watched THEN ${untilFoundAgain} ELSE allowance END`;

// The time of such a ping is unknown. For a heartbeat that is ok it counts as now. A watched one's object was called
// with it and with all that followed, so the object is called again at once.
const correctTimes = `
  WITH now AS (
    SELECT date_trunc('milliseconds', clock_timestamp()) AS at
  ), wrong AS (
    SELECT id, ${aheadInSql("last_ping_at")} AS is_ping, ${aheadInSql("told_at")} AS is_announcement
    FROM heartbeats
    WHERE ${aheadInSql("last_ping_at")} OR ${aheadInSql("told_at")}
      OR NOT (${isByCron}) AND ${aheadInSql(`due_at - ${longestWait}`)}
    ORDER BY id FOR UPDATE SKIP LOCKED
  )
  UPDATE heartbeats h SET
    last_ping_at = CASE
      WHEN NOT is_ping THEN h.last_ping_at WHEN h.is_watched THEN NULL ELSE now.at
    END,
    told_at = CASE WHEN is_announcement THEN NULL ELSE h.told_at END,
    due_at = CASE
      WHEN h.is_watched THEN now.at
      WHEN is_ping THEN now.at + h.allowance
      ELSE coalesce(h.last_ping_at, now.at) + h.allowance
    END
  FROM now, wrong WHERE wrong.id = h.id`;

const endLease = `
  WITH locked AS (
    SELECT id FROM heartbeats WHERE id = ANY ($1) AND is_watched AND due_at = $2
    ORDER BY id FOR UPDATE
  )
  UPDATE heartbeats h SET due_at = clock_timestamp() + ${untilFoundAgain}
  FROM locked WHERE locked.id = h.id`;

const untilNext = `
  SELECT extract(epoch FROM min(due_at) + ${untilStored} - clock_timestamp())::float8 * 1000 AS in_ms
  FROM heartbeats`;
