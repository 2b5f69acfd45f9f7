/** Computes when the waves of rollouts may start, from the rows of the table `rollout_windows`. Pure. */
import { dayAt, type InDoubt, msAtClock, toIso, weekdayOf } from "#kernel/time.ts";
import { type Opening, type RolloutWindow, weekdays } from "./contract.ts";

/** Half open: `endMs` does not belong to it. */
type Interval = { startMs: number; endMs: number };

const dayMs = 86_400_000;
const yearMs = 366 * dayMs;

/** Returns the calendar from `fromMs` on for a year, or for the given time. */
export function createCalendar(
  windows: readonly RolloutWindow[],
  fromMs: number,
  horizonMs = yearMs,
) {
  const span = { startMs: fromMs, endMs: fromMs + horizonMs };
  const of = (wanted: RolloutWindow["kind"]) =>
    union(windows.filter(({ kind }) => kind === wanted).flatMap((one) => occurrences(one, span)));
  const freezes = of("freeze");
  const isRestricted = windows.some(({ kind }) => kind === "allowed");
  const allowed = isRestricted ? of("allowed") : [span];

  return {
    /** The first time from `ms` on at which a wave may start; undefined: there is none in that time. */
    nextOpening(ms: number): number | undefined {
      let atMs = ms;
      for (const { startMs, endMs } of allowed) {
        if (endMs <= atMs) continue;
        atMs = afterFreezes(freezes, Math.max(atMs, startMs));
        if (atMs < endMs) return atMs;
      }
      return undefined;
    },
  };
}

/** Evaluates if a wave may start at `nowMs`; if not, why, and until when. */
export function openingAt(windows: readonly RolloutWindow[], nowMs: number): Opening {
  // A year of many windows takes a tenth of a second; mostly the next opening is near.
  const next =
    createCalendar(windows, nowMs, 8 * dayMs).nextOpening(nowMs) ??
    createCalendar(windows, nowMs).nextOpening(nowMs);
  if (next === nowMs) return { is_open: true };
  const until = next === undefined ? {} : { until: toIso(next) };
  return { is_open: false, reason: reasonAt(windows, nowMs), ...until };
}

/** The opening now and, if it is in the future, at the requested start. */
export type Openings = { now: Opening; atStart?: Opening };

export function openingsAt(
  windows: readonly RolloutWindow[],
  { nowMs, startMs = nowMs }: { nowMs: number; startMs?: number | undefined },
): Openings {
  const now = openingAt(windows, nowMs);
  return startMs > nowMs ? { now, atStart: openingAt(windows, startMs) } : { now };
}

function reasonAt(windows: readonly RolloutWindow[], nowMs: number): string {
  const now = { startMs: nowMs, endMs: nowMs + 1 };
  const freeze = windows.find((one) => one.kind === "freeze" && occurrences(one, now).length > 0);
  if (freeze !== undefined) return `the freeze ${freeze.id} is in force: ${freeze.reason}`;
  const ids = windows.filter(({ kind }) => kind === "allowed").map(({ id }) => id);
  return `it is outside of the allowed windows: ${ids.slice(0, 5).join(", ")}`;
}

function afterFreezes(freezes: readonly Interval[], ms: number): number {
  const freeze = freezes.find(({ startMs, endMs }) => startMs <= ms && ms < endMs);
  return freeze === undefined ? ms : freeze.endMs;
}

/** Sorted, and neither overlapping nor touching. */
function union(intervals: readonly Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const next of intervals.toSorted((a, b) => a.startMs - b.startMs)) {
    const last = merged.at(-1);
    if (last === undefined || next.startMs > last.endMs) merged.push({ ...next });
    else last.endMs = Math.max(last.endMs, next.endMs);
  }
  return merged;
}

/** The parts of a window that lie in `span`. */
function occurrences(window: RolloutWindow, span: Interval): Interval[] {
  const valid = {
    startMs: Math.max(
      span.startMs,
      window.starts === undefined ? -Infinity : Date.parse(window.starts),
    ),
    endMs: Math.min(span.endMs, window.ends === undefined ? Infinity : Date.parse(window.ends)),
  };
  const isDaily = window.days !== undefined || window.from !== undefined;
  const parts = isDaily ? dailyParts(window, valid) : [valid];
  return parts
    .map(({ startMs, endMs }) => ({
      startMs: Math.max(startMs, valid.startMs),
      endMs: Math.min(endMs, valid.endMs),
    }))
    .filter(({ startMs, endMs }) => startMs < endMs);
}

/** A skipped time is as much later; of a repeated one the first counts, for a freeze the reading that is longer. */
function dailyParts(
  { kind, days, from = "00:00", to = "00:00", time_zone: timeZone }: RolloutWindow,
  within: Interval,
): Interval[] {
  if (within.startMs >= within.endMs) return [];
  const at = (day: number, time: string, freeze: InDoubt) =>
    msAtClock({ timeZone, day, time }, kind === "freeze" ? freeze : "compatible");
  const daysTaken = to <= from ? 1 : 0;
  const lastDay = dayAt(timeZone, within.endMs);
  const parts: Interval[] = [];
  // From the day before, whose window may end on the next day.
  for (let day = dayAt(timeZone, within.startMs) - 1; day <= lastDay; day += 1) {
    const weekday = weekdays[weekdayOf(day)];
    if (days !== undefined && weekday !== undefined && !days.includes(weekday)) continue;
    parts.push({ startMs: at(day, from, "earlier"), endMs: at(day + daysTaken, to, "later") });
  }
  return parts;
}
