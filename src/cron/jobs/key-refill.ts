/** Refills the credits of keys: daily, or on their day of the month. */
import type { Job } from "#cron/job.ts";
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

const dayMs = 24 * 60 * 60 * 1_000;

/** At least as long as any month: after such a downtime every day of the month has passed. */
const maxDaysBack = 31;

function startOfDay(atMs: number): number {
  return Math.floor(atMs / dayMs) * dayMs;
}

/**
 * The days of the month (1 to 31) whose monthly refill is due on `todayMs`, or was due on a day after
 * `lastDayMs`, the last day that was processed (null: none). The last day of a month includes the days
 * that this month does not have: a key with day 31 is refilled on the 30th of April.
 */
export function refillDaysDue(todayMs: number, lastDayMs: number | null): number[] {
  const earliest = todayMs - (maxDaysBack - 1) * dayMs;
  const from = Math.max(Math.min((lastDayMs ?? todayMs) + dayMs, todayMs), earliest);
  const days = new Set<number>();
  for (let atMs = from; atMs <= todayMs; atMs += dayMs) {
    for (const day of daysOn(new Date(atMs))) days.add(day);
  }
  return [...days].sort((a, b) => a - b);
}

function daysOn(date: Date): number[] {
  const day = date.getUTCDate();
  const isLast = new Date(date.getTime() + dayMs).getUTCDate() === 1;
  const until = isLast ? 31 : day;
  return Array.from({ length: until - day + 1 }, (_, i) => day + i);
}
