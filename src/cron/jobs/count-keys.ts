/** Stores the number of keys of each key space: counting them at each request would be too expensive. */
import type { Job } from "#cron/job.ts";
import { everyMinutes } from "#cron/schedule.ts";

export type CountKeys = () => Promise<{ keySpaces: number; keys: number }>;

/** Every 5 minutes, which is the period of its heartbeat `workflows-count-keys`. */
export function createCountKeys(countKeys: CountKeys): Job {
  return {
    schedule: everyMinutes(5),
    runsAtOnce: true,
    retryForMs: 60_000,
    run: async ({ step }) => {
      const { keySpaces, keys } = await step("count-keys", countKeys);
      return `${keys} keys in ${keySpaces} key spaces`;
    },
  };
}
