/**
 * Notes while pings are listened for, so that a heartbeat is not blamed for one that nobody took. Each
 * process notes for itself: it is not away because it is busy, only when it is gone, stood still, or could
 * not reach the database that keeps pings.
 */

import { randomUUID } from "node:crypto";
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";
import { inTime } from "#kernel/in-time.ts";
import type { Log } from "#kernel/log.ts";
import { pause } from "#kernel/pause.ts";
import { type Absences, findAbsences, goneMs, noteEveryMs } from "#monitor/rules/absences.ts";

/** The first note is written when it resolves; before, pings must not be taken. */
export async function startPresence(
  database: Database,
  log: Log,
): Promise<{ stop: () => Promise<void> }> {
  const listener = createListener(database);
  await listener.note();
  const stopping = new AbortController();
  const ended = noteUntil(stopping.signal, { listener, log });
  return {
    stop: async () => {
      stopping.abort();
      await inTime(() => ended.then(listener.leave), {
        limitMs: leaveLimitMs,
        otherwise: undefined,
      });
    },
  };
}

/** Whoever reads finds out by itself, a little later. */
const leaveLimitMs = 2_000;

type Listener = ReturnType<typeof createListener>;

/** One note after the other: those that a slow database keeps waiting do not pile up. */
async function noteUntil(
  signal: AbortSignal,
  { listener, log }: { listener: Listener; log: Log },
): Promise<void> {
  while (true) {
    await pause(noteEveryMs, signal);
    if (signal.aborted) return;
    await listener
      .note()
      .catch((error) => log.warn({ detail: (error as Error).message }, "presence not noted"));
  }
}

export function createListener(database: Database) {
  let part: string | null = null;
  let hasFailed = false;
  /** Answers whether the span goes on; no when it was interrupted. */
  const goOn = async (hasLeft: boolean) => {
    if (part === null) return false;
    // While the database answers, whoever pings waits no longer than the note.
    const gapMs = hasFailed ? noteEveryMs + refusingMs : goneMs;
    const { rowCount } = await database.query(extendSpan, [part, gapMs, hasLeft]);
    return rowCount === 1;
  };
  return {
    /** Throws when the database does not take it: then it takes no pings either. */
    async note(): Promise<void> {
      try {
        if (!(await goOn(false))) {
          const next = `pings:${randomUUID()}`;
          await database.query(beginSpan, [next]);
          part = next;
        }
        hasFailed = false;
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    },

    /** From now on nobody waits for a note. */
    async leave(): Promise<void> {
      await goOn(true);
    },
  };
}

/** A single connection that is lost, with the next note in time, keeps no pings out. */
const refusingMs = 3_000;

/** Of the last spans; more are not kept. */
export async function readAbsences(database: Database): Promise<Absences> {
  const { rows } = await database.query<SpanRow>(readSpans);
  const [first] = rows;
  if (first === undefined) return { spans: [], isDoubtful: false };
  const listening = rows.map(({ since, seen_at, has_left }) => ({
    fromMs: Math.min(since.getTime(), seen_at.getTime()),
    toMs: seen_at.getTime(),
    hasLeft: has_left,
  }));
  return findAbsences(listening, first.now.getTime());
}

type SpanRow = { since: Date; seen_at: Date; has_left: boolean; now: Date };

const mostSpans = 200;

const extendSpan = `
  UPDATE monitor_presence SET seen_at = clock_timestamp(), has_left = $3
  WHERE part = $1 AND clock_timestamp() - seen_at <= $2::float8 * interval '1 ms'`;

const beginSpan = `
  WITH old AS (
    DELETE FROM monitor_presence
    WHERE part IN (SELECT part FROM monitor_presence ORDER BY seen_at DESC OFFSET ${mostSpans - 1})
  )
  INSERT INTO monitor_presence (part, since, seen_at)
  VALUES ($1, clock_timestamp(), clock_timestamp())`;

const readSpans = `
  SELECT coalesce(since, seen_at) AS since, seen_at, has_left, clock_timestamp() AS now
  FROM monitor_presence
  -- One that ended while the clock was ahead would look as if it listened until then.
  WHERE NOT ${aheadInSql("seen_at")}
  ORDER BY seen_at DESC LIMIT ${mostSpans}`;
