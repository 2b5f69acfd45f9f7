/**
 * Records the spans in which this process could take pings, so that no heartbeat alerts for a ping that could
 * not be taken. Each process records its own: being busy is no absence, but being gone, suspended, or unable
 * to reach the database of pings is.
 */
import { randomUUID } from "node:crypto";
import { inTime, pause } from "#kernel/async.ts";
import type { Database, Queries } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { type Absences, findAbsences, goneMs, recordEveryMs } from "#monitor/rules/absences.ts";

/** Resolves when the first record is written; before that no ping may be taken. */
export async function startPresence(
  database: Database,
  log: Log,
): Promise<{ stop: () => Promise<void> }> {
  const listener = createListener(database);
  await listener.record();
  const stopping = new AbortController();
  const ended = recordUntil(stopping.signal, { listener, log });
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

/** A process that could not record its leaving counts as gone a little later. */
const leaveLimitMs = 2_000;

type Listener = ReturnType<typeof createListener>;

/** One record after the other: they do not pile up behind a slow database. */
async function recordUntil(
  signal: AbortSignal,
  { listener, log }: { listener: Listener; log: Log },
): Promise<void> {
  while (true) {
    await pause(recordEveryMs, signal);
    if (signal.aborted) return;
    await listener
      .record()
      .catch((error) => log.warn({ detail: (error as Error).message }, "presence not recorded"));
  }
}

export function createListener(database: Database) {
  let part: string | null = null;
  let hasFailed = false;
  /** Returns whether the span was extended; false when it was interrupted. */
  const extend = async (hasLeft: boolean) => {
    if (part === null) return false;
    // While the database answers, a ping waits no longer than this record does.
    const gapMs = hasFailed ? recordEveryMs + refusingMs : goneMs;
    const { rowCount } = await database.query(extendSpan, [part, gapMs, hasLeft]);
    return rowCount === 1;
  };
  return {
    /** Throws when the database does not accept it: then it accepts no pings either. */
    async record(): Promise<void> {
      try {
        if (!(await extend(false))) {
          const next = `pings:${randomUUID()}`;
          await database.query(startSpan, [next]);
          part = next;
        }
        hasFailed = false;
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    },

    /** Ends the span: no further record is waited for. */
    async leave(): Promise<void> {
      await extend(true);
    },
  };
}

/** A single lost connection, with the next record in time, is no absence. */
const refusingMs = 3_000;

/** From the last `mostSpans` spans; older ones are deleted. */
export async function readAbsences(database: Queries): Promise<Absences> {
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

const startSpan = `
  WITH old AS (
    DELETE FROM monitor_presence
    WHERE part IN (SELECT part FROM monitor_presence ORDER BY seen_at DESC OFFSET ${mostSpans - 1})
  )
  INSERT INTO monitor_presence (part, since, seen_at)
  VALUES ($1, clock_timestamp(), clock_timestamp())`;

const readSpans = `
  SELECT since, seen_at, has_left, clock_timestamp() AS now
  FROM monitor_presence ORDER BY seen_at DESC LIMIT ${mostSpans}`;
