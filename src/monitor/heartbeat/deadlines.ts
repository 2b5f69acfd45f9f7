/**
 * The deadlines of heartbeats that are ok, in Postgres: a ping moves none, and Restate hears only of
 * those that have passed. A timer for each would cost more than everything else together.
 */
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";
import type { Heartbeat } from "#monitor/contract.ts";
import { findAway } from "#monitor/rules/absences.ts";
import { allowanceMs, type PassedDeadlines } from "#monitor/rules/deadline.ts";
import { readAbsences } from "./presence.ts";

export type Deadlines = ReturnType<typeof createDeadlines>;

export function createDeadlines(database: Database) {
  return {
    /** The periods and graces that hold from now on. */
    async adopt(heartbeats: readonly Heartbeat[]): Promise<void> {
      await database.query(adoptAllowances, [
        heartbeats.map(({ id }) => id),
        heartbeats.map(allowanceMs),
      ]);
    },

    /** The heartbeats whose objects wait by themselves: never pinged, or something is amiss. */
    async watched(): Promise<string[]> {
      const { rows } = await database.query("SELECT id FROM heartbeats WHERE is_watched");
      return rows.map(({ id }) => id);
    },

    /**
     * Finds the deadlines that have passed; null: none, or it is not known yet whether pings were
     * listened for. Each of those heartbeats is watched from then on. Found again a little later unless
     * `told` says that its object knows.
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
     * Sets right what was noted while a clock was ahead: nobody would look for that heartbeat until then.
     * Reads all rows, and is for now and then.
     */
    async correct(): Promise<void> {
      await database.query(correctTimes);
    },

    /** Leaves them to their objects, for a while. */
    async told({ overdue, lease }: PassedDeadlines): Promise<void> {
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
    WHERE given.allowance <> h.allowance ORDER BY h.id FOR UPDATE OF h
  )
  UPDATE heartbeats h SET
    allowance = locked.allowance,
    due_at = CASE WHEN h.is_watched THEN h.due_at ELSE h.last_ping_at + locked.allowance END
  FROM locked WHERE locked.id = h.id`;

/**
 * An object that watches is asked so often whether it does: it may have lost what it knew, or Postgres
 * may, and a statement of one that was killed may still come.
 */
export const untilAskedAgain = "interval '10 min'";

/** A job does not mind; three writes for each ping would be most of the cost of monitoring. */
export const pingPaceMs = 100;

/** A ping may wait so long until it is written, with others: a deadline that it met has not passed. */
export const untilWrittenMs = pingPaceMs + 20;
const untilWritten = `interval '${untilWrittenMs} ms'`;

// Deadlines before which a ping came are moved a little ahead of their time, many together: what is
// left when one passes is overdue. One that is locked is being pinged or told of: the next time will do.
// Joined instead of asked for as values, `now` and `near` have Postgres read the whole table each time.
const takePassed = `
  WITH now AS (
    SELECT date_trunc('milliseconds', clock_timestamp() - ${untilWritten}) AS at
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

const longestWait = `CASE WHEN is_watched THEN ${untilAskedAgain} ELSE allowance END`;

// Nobody knows when such a ping came. Of a heartbeat that is ok it was now; an object that watches was told
// of it, and of whatever came after, and is asked at once.
const correctTimes = `
  WITH now AS (
    SELECT date_trunc('milliseconds', clock_timestamp()) AS at
  ), wrong AS (
    SELECT id, ${aheadInSql("last_ping_at")} AS is_ping, ${aheadInSql("told_at")} AS is_word
    FROM heartbeats
    WHERE ${aheadInSql("last_ping_at")} OR ${aheadInSql("told_at")}
      OR ${aheadInSql(`due_at - ${longestWait}`)}
    ORDER BY id FOR UPDATE SKIP LOCKED
  )
  UPDATE heartbeats h SET
    last_ping_at = CASE
      WHEN NOT is_ping THEN h.last_ping_at WHEN h.is_watched THEN NULL ELSE now.at
    END,
    told_at = CASE WHEN is_word THEN NULL ELSE h.told_at END,
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
  UPDATE heartbeats h SET due_at = clock_timestamp() + ${untilAskedAgain}
  FROM locked WHERE locked.id = h.id`;

const untilNext = `
  SELECT extract(epoch FROM min(due_at) + ${untilWritten} - clock_timestamp())::float8 * 1000 AS in_ms
  FROM heartbeats`;
