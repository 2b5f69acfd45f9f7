/** What has to be done now and then: partitions, minutes and hours, what is too old. */
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { keepPartitions } from "./partitions.ts";
import { type RollupSettings, rollUp } from "./rollups.ts";

type Retention = {
  database: Database;
  settings: RollupSettings & { resultDays: number };
  log: Log;
  nowMs: () => number;
};

const everyMs = 60_000;

/** Episodes and gaps are small and worth keeping as long as hours are. */
const dropOldEpisodes = "DELETE FROM check_episodes WHERE resolved_at < $1";
const dropOldGaps = "DELETE FROM check_missed_ticks WHERE to_at < $1";

/** Does all that is due now. May be called at any time, and by several processes at once. */
export async function keepResults({ database, settings, nowMs }: Omit<Retention, "log">) {
  const trustedMs = await readTrusted(database, nowMs());
  const { resultDays: keepDays, hourDays } = settings;
  await keepPartitions(database, { nowMs: nowMs(), trustedMs, keepDays });
  while (await rollUp(database, { nowMs: nowMs(), trustedMs, settings })) {
    // There is more: each call makes a bounded step.
  }
  const oldest = new Date(trustedMs - hourDays * 86_400_000);
  await database.query(dropOldEpisodes, [oldest]);
  await database.query(dropOldGaps, [oldest]);
}

/**
 * The time by which things are too old (Unix ms). What is dropped is gone for good, and a clock may be ahead:
 * one that leaves days behind in which nothing ran is trusted when results have come by it for half a day.
 */
async function readTrusted(database: Database, nowMs: number): Promise<number> {
  const { rows } = await database.query(readClocks, [new Date(nowMs)]);
  const { now_ms, known_ms } = rows[0] as { now_ms: number; known_ms: number | null };
  return Math.min(nowMs, now_ms, (known_ms ?? 0) + 86_400_000);
}

const readClocks = `
  SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms,
    extract(epoch FROM (
      SELECT max(starts_at) FROM check_rollups
      WHERE bucket_seconds = 3600 AND starts_at < least($1, clock_timestamp()) - interval '12 hours'
    ))::float8 * 1000 AS known_ms`;

/** Does it every minute until stopped; `stop` waits for what is under way. */
export function startKeeping(keeping: Retention): { stop: () => Promise<void> } {
  let current = Promise.resolve();
  let isBusy = false;
  const turn = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      await keepResults(keeping);
    } catch (err) {
      keeping.log.warn({ err }, "check results not tidied; tried again in a minute");
    } finally {
      isBusy = false;
    }
  };
  const start = () => {
    current = turn();
  };
  start();
  const timer = setInterval(start, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      await current;
    },
  };
}
