/** Which keys a refill is due for, by the calendar (UTC). */

const dayMs = 24 * 60 * 60 * 1_000;

/** Longer than any month: after such an absence every day of the month has come up. */
const maxDaysBack = 31;

export function startOfDay(atMs: number): number {
  return Math.floor(atMs / dayMs) * dayMs;
}

/**
 * The days of the month (1 to 31) whose monthly refill falls on `todayMs`, or fell on a day since
 * `lastDayMs`, the last day that was taken care of. On the last day of a month those follow that it
 * does not have: a key with day 31 is refilled on the 30th of April.
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
