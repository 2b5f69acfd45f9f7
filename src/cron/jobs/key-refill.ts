/** Refills the credits of keys: daily, or on their day of the month. */
import type { Job } from "#cron/job.ts";
import { refillDaysDue, startOfDay } from "#cron/refill-days.ts";
import { dailyAt } from "#cron/schedule.ts";

type RefillOrder = {
  /** Start of today, UTC: a key that was refilled since then is skipped. */
  todayMs: number;
  /** Days of the month that are due. */
  days: number[];
  /** The last key of the batch before. */
  after: string;
};

/** Refills a batch of keys, in the order of their ids. `after` undefined: no key is left. */
export type RefillKeys = (
  order: RefillOrder,
) => Promise<{ refilled: number; after: string | undefined }>;

const lastDayKey = "lastDayMs";

export function createKeyRefill(refillKeys: RefillKeys): Job {
  return {
    schedule: dailyAt(0),
    retryForMs: 60 * 60_000,
    run: async ({ nowMs, step, recall, remember }) => {
      const todayMs = startOfDay(nowMs);
      const days = refillDaysDue(todayMs, await recall<number>(lastDayKey));
      let refilled = 0;
      let after: string | undefined = "";
      while (after !== undefined) {
        const order: RefillOrder = { todayMs, days, after };
        const done = await step("refill-keys", () => refillKeys(order));
        refilled += done.refilled;
        after = done.after;
      }
      remember(lastDayKey, todayMs);
      return `${refilled} keys refilled`;
    },
  };
}
