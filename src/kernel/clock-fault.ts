/**
 * Times that another clock wrote, or ours before it was set right. Clocks that work differ by far less than
 * this: what lies further ahead is no time to wait for, nor the newest until then.
 */
const clockFaultMs = 600_000;

export function isAhead(atMs: number, nowMs: number): boolean {
  return atMs - nowMs > clockFaultMs;
}

/** The same in SQL, of a timestamptz and by the clock of Postgres unless told otherwise. null is not. */
export function aheadInSql(time: string, now = "clock_timestamp()"): string {
  return `coalesce(${time} > ${now} + interval '${clockFaultMs} ms', false)`;
}
