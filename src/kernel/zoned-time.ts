/** Days and times of day in IANA time zones by `Intl`, because `Temporal` is only there from Node 26 on. */

const dayMs = 86_400_000;

/** The day of a time zone's calendar, counted from 1970-01-01, which is 0. */
export function dayAt(timeZone: string, ms: number): number {
  return Math.floor((ms + offsetAt(timeZone, ms)) / dayMs);
}

/** Returns 0, Monday, to 6, Sunday. */
export function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

export type ClockTime = {
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
