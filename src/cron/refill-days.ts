/** On which days of the month a refill is due, by the calendar (UTC). */

const dayMs = 24 * 60 * 60 * 1_000;

/** At least as long as any month: after such a downtime every day of the month has passed. */
const maxDaysBack = 31;

export function startOfDay(atMs: number): number {
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
