/** Heartbeats by a cron expression: which of its times a ping counts for. Pure; time is a parameter. */
import { type CronTimes, countTimes, timeAfter, timeUpTo } from "#kernel/cron-times.ts";
import type { CronSchedule } from "#monitor/contract.ts";

/** What of a heartbeat its times and windows depend on. */
export type Occurrences = CronSchedule & { graceSeconds: number };

/** The last instant that a date of four digits can express: an expression that never comes is refused before. */
const neverMs = Date.UTC(9999, 11, 31);

/** The first time after `settledMs`, for which a ping has to come. */
export function owedAtMs(schedule: CronSchedule, settledMs: number): number {
  return timeAfter(timesOf(schedule), settledMs) ?? neverMs;
}

/**
 * The time that a ping counts for: the last one whose window has begun. With it all earlier ones are settled,
 * which were pinged for, or for which an alert was due. null: no time is as early.
 */
export function occurrenceOf(schedule: CronSchedule, pingMs: number): number | null {
  const times = timesOf(schedule);
  const next = timeAfter(times, pingMs);
  const last = timeUpTo(times, pingMs);
  if (next !== null && pingMs >= next - earlyMs(schedule, next - (last ?? 0))) return next;
  return last;
}

/**
 * Up to which time all is settled after a success. A run that said when it began counts for the time at which it
 * began; but a time whose window has ended before the success needs no further ping, as it alerted or was held.
 */
export function settledBy(
  schedule: Occurrences,
  { startedAtMs, endedAtMs }: { startedAtMs: number | null; endedAtMs: number },
): number {
  const counted = occurrenceOf(schedule, startedAtMs ?? endedAtMs) ?? 0;
  if (startedAtMs === null) return counted;
  const ended = timeUpTo(timesOf(schedule), endedAtMs - schedule.graceSeconds * 1_000 - 1) ?? 0;
  return Math.max(counted, ended);
}

/** Counting thousands of times would hold up everything else. */
const mostMissed = 1_000;

/** The times after `settledMs` that no ping came for, when one comes at `pingMs`; 1000 at most. */
export function countMissed(
  schedule: CronSchedule,
  { settledMs, pingMs }: { settledMs: number; pingMs: number },
): number {
  const toMs = (occurrenceOf(schedule, pingMs) ?? 0) - 1;
  return countTimes(timesOf(schedule), { fromMs: settledMs, toMs, most: mostMissed });
}

/** How long before its time a ping may come, at the most: after it was settled by one, it is so far ahead. */
export function longestEarlyMs({ earlySeconds }: CronSchedule): number {
  return (earlySeconds ?? defaultEarlySeconds) * 1_000;
}

const defaultEarlySeconds = 60;

/** Never more than half of the time since the one before, for which a late ping may still come. */
function earlyMs({ earlySeconds }: CronSchedule, gapMs: number): number {
  if (earlySeconds === undefined) return Math.min(defaultEarlySeconds * 1_000, gapMs / 4);
  return Math.min(earlySeconds * 1_000, gapMs / 2);
}

function timesOf({ cron: expression, timezone, dialect }: CronSchedule): CronTimes {
  return { expression, timezone, dialect };
}
