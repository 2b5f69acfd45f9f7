/**
 * Times that a wrong clock wrote: another machine's, or ours before it was corrected. Working clocks differ
 * by far less than `clockFaultMs`. A time further ahead than that is neither waited for nor taken as the
 * newest.
 */
const clockFaultMs = 600_000;

export function isAhead(atMs: number, nowMs: number): boolean {
  return atMs - nowMs > clockFaultMs;
}

/** `isAhead` in SQL, of a timestamptz; `now` is the clock of Postgres by default. False for null. */
export function aheadInSql(time: string, now = "clock_timestamp()"): string {
  return `coalesce(${time} > ${now} + interval '${clockFaultMs} ms', false)`;
}
