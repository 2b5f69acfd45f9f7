/** Formats times and durations for people, computes with time zones, and allows for faults of a clock. */

/** Unix milliseconds as ISO 8601 in UTC. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Formats a time for people: `2026-01-01 00:00:00 UTC`. `at`: ISO 8601, or Unix milliseconds; empty: never. */
export function formatUtc(at: string | number | Date | null | undefined): string {
  if (at === null || at === undefined) return "";
  return `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`;
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The milliseconds of `2s` or `1.5h`; undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  return Math.round(Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]);
}

/** Formats a duration for people, in the largest suitable unit, with three digits: `340 ms`, `1.2 s`, `26 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 2 * unitMs.m) return `${trim(ms / unitMs.s)} s`;
  if (ms < 2 * unitMs.h) return `${trim(ms / unitMs.m)} min`;
  if (ms < 2 * unitMs.d) return `${trim(ms / unitMs.h)} h`;
  return `${trim(ms / unitMs.d)} days`;
}

/** The time between two moments; 0 when the clock was set back in between. */
export function formatSpan(from: string | number, to: string | number): string {
  return formatDuration(Math.max(0, new Date(to).getTime() - new Date(from).getTime()));
}

function trim(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** Names of three letters that the IANA has; `Intl` takes abbreviations, such as PST, too. */
const short = new Set("CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET".split(" "));

/** True if it is the name of an IANA time zone, in any case. An offset such as +02:00 is none. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(name)) return false;
  const upper = name.toUpperCase();
  if (upper.length === 3 && !short.has(upper)) return false;
  if (upper.startsWith("SYSTEMV/")) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

// Days and times of day in IANA time zones by `Intl`, because `Temporal` is only there from Node 26 on.

const dayMs = 86_400_000;

/** The day of a time zone's calendar, counted from 1970-01-01, which is 0. */
export function dayAt(timeZone: string, ms: number): number {
  return Math.floor((ms + offsetAt(timeZone, ms)) / dayMs);
}

/** Returns 0, Monday, to 6, Sunday. */
export function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

type ClockTime = {
  timeZone: string;
  day: number;
  /** `HH:MM`, from 00:00 to 23:59. */
  time: string;
};

/** Meaning of a time of day that a change of clocks leaves out or repeats. `compatible`: as much later, or the first. */
export type InDoubt = "earlier" | "later" | "compatible";

/** Unix milliseconds at which the clocks of a time zone show this. */
export function msAtClock({ timeZone, day, time }: ClockTime, inDoubt: InDoubt): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  const shown = day * dayMs + (hours * 60 + minutes) * 60_000;
  // No offset is longer than a day: one of these two holds at the time that is looked for.
  const before = shown - offsetAt(timeZone, shown - dayMs);
  const after = shown - offsetAt(timeZone, shown + dayMs);
  if (before === after) return before;
  const isShownAt = (ms: number) => ms + offsetAt(timeZone, ms) === shown;
  const found = [before, after].filter(isShownAt).sort((a, b) => a - b);
  const [first = 0, last = first] = found;
  if (found.length > 0) return inDoubt === "later" ? last : first;
  return inDoubt === "earlier" ? after : before;
}

/** Returns how far the zone's clocks are ahead of UTC, in milliseconds. */
export function offsetAt(timeZone: string, ms: number): number {
  const shown = formatOf(timeZone).format(ms);
  const [, sign, hours, minutes, seconds = "0"] =
    /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(shown) ?? [];
  if (sign === undefined) return 0;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  return (sign === "-" ? -offset : offset) * 1_000;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Making one takes a hundred times as long as its use. There are no more than there are time zones, in whatever case. */
function formatOf(given: string): Intl.DateTimeFormat {
  const timeZone = given.toLowerCase();
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  formats.set(timeZone, format);
  return format;
}

/** Ms of a `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). undefined: there is none, or it is neither. */
export function readRetryAfter(
  header: string | null | undefined,
  nowMs: number,
): number | undefined {
  if (header === null || header === undefined) return undefined;
  const afterMs = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isFinite(afterMs) ? Math.max(0, afterMs) : undefined;
}

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
