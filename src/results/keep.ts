/** What has to be done now and then: partitions, minutes and hours, what is too old. */
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { keepPartitions } from "./partitions.ts";
import { type RollupSettings, rollUp } from "./rollups.ts";

type Keeping = {
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
export async function keepResults({ database, settings, nowMs }: Omit<Keeping, "log">) {
  await keepPartitions(database, { nowMs: nowMs(), keepDays: settings.resultDays });
  while (await rollUp(database, { nowMs: nowMs(), settings })) {
    // There is more: each call makes a bounded step.
  }
  const oldest = new Date(nowMs() - settings.hourDays * 86_400_000);
  await database.query(dropOldEpisodes, [oldest]);
  await database.query(dropOldGaps, [oldest]);
}

/** Does it every minute until stopped; `stop` waits for what is under way. */
export function startKeeping(keeping: Keeping): { stop: () => Promise<void> } {
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
