/** Notes while pings are listened for, so that a heartbeat is not blamed for one that nobody took. */
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";

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

// Two notes that are this far apart had something between them that took no pings.
const noteSeen = `
  INSERT INTO monitor_presence AS p (part, seen_at) VALUES ('pings', clock_timestamp())
  ON CONFLICT (part) DO UPDATE SET
    seen_at = excluded.seen_at,
    away_from = CASE WHEN excluded.seen_at - p.seen_at > interval '5 s' THEN p.seen_at ELSE p.away_from END,
    away_to = CASE WHEN excluded.seen_at - p.seen_at > interval '5 s' THEN excluded.seen_at ELSE p.away_to END`;
