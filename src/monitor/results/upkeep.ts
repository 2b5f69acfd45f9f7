/** The periodic upkeep of checks: creates partitions and rollups of results, deletes old rows. */
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { managePartitions } from "./partitions.ts";
import { type RollupSettings, rollUp } from "./rollups.ts";

type UpkeepParts = {
  database: Database;
  /** `stateDays`: how long the state of a removed check is kept. */
  settings: RollupSettings & { resultDays: number; stateDays: number };
  /** Deletes what is stored of checks that were removed before. */
  deleteRemoved: (before: Date) => Promise<void>;
  log: Log;
  nowMs: () => number;
};

const everyMs = 60_000;

/** Episodes, suppressions and missed ticks are small: they have the retention of the rollups by hour. */
const dropOldEpisodes = "DELETE FROM check_episodes WHERE resolved_at < $1";
const dropOldSuppressions = "DELETE FROM check_suppressions WHERE ended_at < $1";
const dropOldGaps = "DELETE FROM check_missed_ticks WHERE to_at < $1";

/** Does the upkeep that is due. May be called at any time, also by several processes at once. */
export async function runUpkeep(parts: Omit<UpkeepParts, "log">) {
  const { database, settings, nowMs, deleteRemoved } = parts;
  const trustedMs = await readTrusted(database, nowMs());
  const { resultDays: keepDays, hourDays, stateDays } = settings;
  await managePartitions(database, { nowMs: nowMs(), trustedMs, keepDays });
  while (await rollUp(database, { nowMs: nowMs(), trustedMs, settings })) {
    // Each call does a bounded step, and returns true if there is more to do.
  }
  const oldest = new Date(trustedMs - hourDays * 86_400_000);
  await database.query(dropOldEpisodes, [oldest]);
  await database.query(dropOldSuppressions, [oldest]);
  await database.query(dropOldGaps, [oldest]);
  await deleteRemoved(new Date(trustedMs - stateDays * 86_400_000));
}

/** Unix ms from which ages count. After a jump it is trusted only with results of half a day: deletion is final. */
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

/** Runs the upkeep every minute; `stop` waits for one in progress. */
export function startUpkeep(parts: UpkeepParts): { stop: () => Promise<void> } {
  let current = Promise.resolve();
  let isBusy = false;
  const turn = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      await runUpkeep(parts);
    } catch (err) {
      parts.log.warn({ err }, "upkeep of check results failed; retried in a minute");
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
