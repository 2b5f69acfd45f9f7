/** Notes while pings are listened for, so that a heartbeat is not blamed for one that nobody took. */
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import type { Away } from "./deadline.ts";

const everyMs = 2_000;

/** The first note is written when it resolves; before, pings must not be taken. */
export async function startPresence(
  database: Database,
  log: Log,
): Promise<{ stop: () => Promise<void> }> {
  await note(database);
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = note(database).catch((error) =>
      log.warn({ detail: (error as Error).message }, "presence not noted"),
    );
  }, everyMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

async function note(database: Database): Promise<void> {
  await database.query(noteSeen);
}

/** Two notes that are this far apart had something between them that took no pings. */
const awayAfter = "interval '5 s'";

const noteSeen = `
  INSERT INTO monitor_presence AS p (part, seen_at) VALUES ('pings', clock_timestamp())
  ON CONFLICT (part) DO UPDATE SET
    seen_at = excluded.seen_at,
    away_from = CASE WHEN excluded.seen_at - p.seen_at > ${awayAfter} THEN p.seen_at ELSE p.away_from END,
    away_to = CASE WHEN excluded.seen_at - p.seen_at > ${awayAfter} THEN excluded.seen_at ELSE p.away_to END`;

/** The last span in which nobody took pings: the one that goes on, else the last that is over. */
export const readPresence = `
  SELECT
    CASE WHEN is_here THEN away_from ELSE seen_at END AS away_from,
    CASE WHEN is_here THEN away_to ELSE clock_timestamp() END AS away_to,
    is_here AS is_over
  FROM (
    SELECT *, clock_timestamp() - seen_at <= ${awayAfter} AS is_here
    FROM monitor_presence WHERE part = 'pings'
  ) AS p`;

/** A row of `readPresence`; every column is null where nobody ever took pings. */
type AwayRow = { away_from: Date | null; away_to: Date; is_over: boolean };

export function toAway({ away_from, away_to, is_over }: AwayRow): Away | null {
  if (away_from === null) return null;
  return { fromMs: away_from.getTime(), toMs: away_to.getTime(), isOver: is_over };
}
