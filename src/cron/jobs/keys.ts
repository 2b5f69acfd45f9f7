/** Jobs that keep keys and certificates up to date. */
import { dailyAt, everyMinutes, type Job } from "#cron/schedule.ts";

/** Gets a new certificate when due. Throws a `ProblemError` if the authority refuses, else what a retry may fix. */
export type RenewCertificate = () => Promise<{ isNew: boolean; expiresMs: number }>;

/** Hourly, so that a new name gets a certificate soon; not more often, since authorities limit failures. */
export function createCertificateRenewal(renew: RenewCertificate): Job {
  return {
    schedule: everyMinutes(60),
    runsAtOnce: true,
    retryForMs: 10 * 60_000,
    run: async ({ step }) => {
      const { isNew, expiresMs } = await step("renew-certificate", renew);
      const day = new Date(expiresMs).toISOString().slice(0, 10);
      return isNew ? `new certificate, good until ${day}` : `certificate good until ${day}`;
    },
  };
}

type CountKeys = () => Promise<{ keySpaces: number; keys: number }>;

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

/** Syncs one batch from `cursor` on (null: from the beginning); `isDone`: no more rows for now. */
type SyncLastUsed = (
  cursor: string | null,
) => Promise<{ synced: number; cursor: string | null; isDone: boolean }>;

const cursorKey = "cursor";

/** Copies the time of each key's last use from analytics to the key. */
export function createKeyLastUsedSync(syncLastUsed: SyncLastUsed): Job {
  return {
    schedule: everyMinutes(1),
    retryForMs: 30_000,
    run: async ({ step, recall, remember }) => {
      let cursor = await recall<string>(cursorKey);
      let synced = 0;
      for (let isDone = false; !isDone; ) {
        const from = cursor;
        const batch = await step("sync-last-used", () => syncLastUsed(from));
        synced += batch.synced;
        cursor = batch.cursor;
        isDone = batch.isDone;
        // After each batch, so that the next run does not sync it again.
        if (cursor !== null) remember(cursorKey, cursor);
      }
      return `${synced} keys synced`;
    },
  };
}

type RefillOrder = {
  /** Start of today, UTC: a key that was refilled since then is skipped. */
  todayMs: number;
  /** Days of the month that are due. */
  days: number[];
  /** The last key of the batch before. */
  after: string;
};

/** Refills a batch of keys, in the order of their ids. `after` undefined: no key is left. */
type RefillKeys = (order: RefillOrder) => Promise<{ refilled: number; after: string | undefined }>;

const lastDayKey = "lastDayMs";

/** Refills the credits of keys: daily, or on their day of the month. */
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
