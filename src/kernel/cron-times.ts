import { type CronDialect, type CronFields, parseCron } from "./cron-expression.ts";
import { offsetAt } from "./time.ts";

/** Five fields, or `@daily` and the like; `timezone` is a name of the IANA; `dialect` is Debian's by default. */
export type CronTimes = { expression: string; timezone: string; dialect?: CronDialect | undefined };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Describes the fault of an expression or a zone to its author; null: there is none. */
export function findCronFault(
  times: CronTimes,
): { field: "cron" | "timezone"; message: string } | null {
  const zoneFault = findZoneFault(times.timezone);
  if (zoneFault !== null) return { field: "timezone", message: zoneFault };
  try {
    const isNever = nextOnClock(compile(times).fields, Date.now()) === null;
    return isNever ? { field: "cron", message: "names a time that never comes" } : null;
  } catch (error) {
    return { field: "cron", message: (error as Error).message };
  }
}

/** The first time strictly after `ms`; null: there is none. */
export function timeAfter(times: CronTimes, ms: number): number | null {
  const { fields, gaps } = compile(times);
  const known = gaps.find(({ fromMs, toMs }) => fromMs <= ms && ms < toMs);
  if (known !== undefined) return known.toMs;
  const next = times.dialect === "kubernetes" ? nextOfKubernetes : nextOfDebian;
  const toMs = next(fields, times.timezone, ms);
  if (toMs !== null) remember(gaps, { fromMs: ms, toMs });
  return toMs;
}

/** No time lies between its ends. Finding one takes up to 100 µs, and a list of checks needs thousands. */
type Gap = { fromMs: number; toMs: number };

const mostGaps = 8;

function remember(gaps: Gap[], { fromMs, toMs }: Gap): void {
  const same = gaps.find((gap) => gap.toMs === toMs);
  if (same !== undefined) same.fromMs = Math.min(same.fromMs, fromMs);
  else gaps.push({ fromMs, toMs });
  if (gaps.length > mostGaps) gaps.shift();
}

/** The last time that is not after `ms`; null: there is none within some decades. */
export function timeUpTo(times: CronTimes, ms: number): number | null {
  for (const spanMs of [hourMs, dayMs, 32 * dayMs, 366 * dayMs, 41 * 366 * dayMs]) {
    const someMs = timeAfter(times, ms - spanMs);
    if (someMs !== null && someMs <= ms) return lastOf(times, someMs, ms);
  }
  return null;
}

function lastOf(times: CronTimes, someMs: number, ms: number): number {
  const after = (fromMs: number) => timeAfter(times, fromMs) ?? Number.POSITIVE_INFINITY;
  let [lastMs, endMs] = [someMs, ms];
  for (let nextMs = after(lastMs); nextMs <= ms; nextMs = after(lastMs)) {
    const middleMs = Math.floor((nextMs + endMs) / 2);
    const laterMs = after(middleMs);
    if (laterMs > ms) endMs = middleMs;
    lastMs = laterMs > ms ? nextMs : laterMs;
  }
  return lastMs;
}

/** Counts the times after `fromMs` up to `toMs`; at most `most`, as each costs about 10 µs. */
export function countTimes(
  times: CronTimes,
  { fromMs, toMs, most }: { fromMs: number; toMs: number; most: number },
): number {
  let count = 0;
  for (let atMs = timeAfter(times, fromMs); atMs !== null && atMs <= toMs; count += 1) {
    if (count === most) break;
    atMs = timeAfter(times, atMs);
  }
  return count;
}

/** Parsing costs more than the times. */
const compiled = new Map<string, Compiled>();
const mostCompiled = 20_000;

type Compiled = { fields: CronFields; gaps: Gap[] };

function compile({ expression, timezone, dialect = "debian" }: CronTimes): Compiled {
  const key = `${dialect} ${timezone} ${expression}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  if (compiled.size >= mostCompiled) compiled.clear();
  const made = { fields: parseCron(expression, dialect), gaps: [] };
  compiled.set(key, made);
  return made;
}

function nextMinute(ms: number): number {
  return Math.floor(ms / minuteMs) * minuteMs + minuteMs;
}

/** The calendar, weekdays included, repeats after so many days. */
const calendarDays = 146_097;

/** The first minute from `clock` on that fits, as a clock shows it: counted as if it were UTC. */
function nextOnClock(fields: CronFields, clock: number): number | null {
  const lastDay = Math.floor(clock / dayMs) + calendarDays;
  for (let at = clock; at <= lastDay * dayMs; ) {
    const [day, date] = [Math.floor(at / dayMs), new Date(at)];
    const isDay = isFittingMonth(fields, date) && isFittingDay(fields, date);
    const found = isDay ? nextOfDay(fields, (at - day * dayMs) / minuteMs) : undefined;
    if (found !== undefined) return day * dayMs + found * minuteMs;
    at = isFittingMonth(fields, date) ? (day + 1) * dayMs : startOfNextMonth(date);
  }
  return null;
}

function nextOfDay({ hours, minutes }: CronFields, from: number): number | undefined {
  const hour = hours.find((one) => one * 60 + (minutes.at(-1) ?? 0) >= from);
  if (hour === undefined) return undefined;
  const minute = minutes.find((one) => hour * 60 + one >= from) ?? 0;
  return hour * 60 + minute;
}

function isFittingMonth({ months }: CronFields, date: Date): boolean {
  return months.includes(date.getUTCMonth() + 1);
}

function isFittingDay({ days, weekdays, needsBoth }: CronFields, date: Date): boolean {
  const isDay = days.includes(date.getUTCDate());
  const isWeekday = weekdays.includes(date.getUTCDay());
  return needsBoth ? isDay && isWeekday : isDay || isWeekday;
}

function startOfNextMonth(date: Date): number {
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** Debian's cron runs a job of a fixed time once at a change: after the gap, or the first time. Others by the clock. */
function nextOfDebian(fields: CronFields, timezone: string, ms: number): number | null {
  let [fromMs, offset] = [ms, offsetAt(timezone, ms)];
  let found = nextOnClock(fields, nextMinute(ms + offset));
  while (found !== null) {
    const atMs = found - offset;
    const endMs = Math.min(atMs, fromMs + dayMs);
    const changeMs = findChange(timezone, fromMs, endMs);
    if (changeMs !== null) {
      [fromMs, offset] = [changeMs, offsetAt(timezone, changeMs)];
      if (found < fromMs + offset && !fields.isByClock) return fromMs;
      found = nextOnClock(fields, fromMs + offset);
    } else if (endMs < atMs) {
      // Up to the day before it nothing fits, whatever the clocks do.
      fromMs = Math.max(endMs, atMs - 2 * dayMs);
      offset = offsetAt(timezone, fromMs);
    } else if (isRepeated(fields, timezone, atMs)) {
      found = nextOnClock(fields, nextMinute(found));
    } else {
      return atMs;
    }
  }
  return null;
}

/** True if it ran when the clocks showed the same time before they were set back. */
function isRepeated({ isByClock }: CronFields, timezone: string, atMs: number): boolean {
  const [offset, before] = [offsetAt(timezone, atMs), offsetAt(timezone, atMs - 3 * hourMs)];
  const isSetBack = !isByClock && before > offset;
  return isSetBack && offsetAt(timezone, atMs + offset - before) === before;
}

/** The first minute after `fromMs`, up to `toMs`, from which the clocks are others than before; null: none is. */
function findChange(timezone: string, fromMs: number, toMs: number): number | null {
  const offset = offsetAt(timezone, fromMs);
  if (offsetAt(timezone, toMs) === offset) return null;
  let [before, after] = [Math.floor(fromMs / minuteMs), Math.ceil(toMs / minuteMs)];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(timezone, middle * minuteMs) === offset) before = middle;
    else after = middle;
  }
  return after * minuteMs;
}

/** robfig/cron goes by what the clocks show, but is not exact where they change within a day of what it passes. */
function nextOfKubernetes(fields: CronFields, timezone: string, ms: number): number | null {
  const isSteady = (fromMs: number, toMs: number) =>
    findChange(timezone, fromMs - dayMs, toMs) === null;
  const found = nextOnClock(fields, nextMinute(ms + offsetAt(timezone, ms)));
  if (found === null) return null;
  const fromMs = isSteady(ms, ms + dayMs) ? Math.max(ms, found - 4 * dayMs) : ms;
  const atMs = found - offsetAt(timezone, fromMs);
  return isSteady(fromMs, atMs) ? atMs : walkToNext(fields, timezone, fromMs);
}

/** By months, days, hours and minutes until each fits, as robfig/cron does: it passes changes without looking back. */
function walkToNext(fields: CronFields, timezone: string, ms: number): number | null {
  let [atMs, isMoved] = [Math.floor(ms / 1_000) * 1_000 + 1_000, false];
  const shown = () => new Date(atMs + offsetAt(timezone, atMs));
  const goTo = (clock: number) => {
    atMs = clock - offsetAt(timezone, clock - offsetAt(timezone, clock));
  };
  const goToStart = (unitMs: number) => {
    if (!isMoved) goTo(Math.floor(shown().getTime() / unitMs) * unitMs);
  };
  const goToNextMonth = () => goTo(startOfNextMonth(shown()));
  const goToNextDay = () => {
    goToStart(dayMs);
    goTo(shown().getTime() + dayMs);
    const hour = shown().getUTCHours();
    atMs += (hour > 12 ? 24 - hour : -hour) * hourMs;
  };
  const goToNextHour = () => {
    goToStart(hourMs);
    atMs += hourMs;
  };
  const goToNextMinute = () => {
    atMs = nextMinute(atMs);
  };
  const isHour = ({ hours }: CronFields, date: Date) => hours.includes(date.getUTCHours());
  const isMinute = ({ minutes }: CronFields, date: Date) => minutes.includes(date.getUTCMinutes());
  // If the field fits; how to continue; and when all fields have to be checked again.
  const steps = [
    { isFitting: isFittingMonth, goOn: goToNextMonth, isOver: () => shown().getUTCMonth() === 0 },
    { isFitting: isFittingDay, goOn: goToNextDay, isOver: () => shown().getUTCDate() === 1 },
    { isFitting: isHour, goOn: goToNextHour, isOver: () => shown().getUTCHours() === 0 },
    { isFitting: isMinute, goOn: goToNextMinute, isOver: () => shown().getUTCMinutes() === 0 },
    { isFitting: () => atMs % minuteMs === 0, goOn: goToNextMinute, isOver: () => true },
  ];
  const lastMs = ms + 5 * 366 * dayMs;
  while (atMs <= lastMs) {
    const isFound = steps.every(({ isFitting, goOn, isOver }) => {
      while (!isFitting(fields, shown())) {
        goOn();
        isMoved = true;
        if (isOver()) return false;
      }
      return true;
    });
    if (isFound) return atMs;
  }
  return null;
}

/** An offset passes on some versions of Node, and knows no summer time. */
function findZoneFault(timezone: string): string | null {
  const example = "has to be the name of a time zone, such as Europe/Berlin or UTC";
  if (/^[+-]|^$/.test(timezone)) return `${example}; an offset knows no summer time`;
  try {
    new Intl.DateTimeFormat("en", { timeZone: timezone });
    return null;
  } catch {
    return example;
  }
}
