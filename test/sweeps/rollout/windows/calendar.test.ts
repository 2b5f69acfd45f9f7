/** When waves may start, compared with the wall clock of each minute. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { toIso } from "#kernel/time.ts";
import { createCalendar } from "#rollout/windows/calendar.ts";
import { RolloutWindow, weekdays } from "#rollout/windows/contract.ts";

const window = (over: object) => RolloutWindow.parse({ id: "w", reason: "a test", ...over });

const minute = 60_000;
const someMinute = fc
  .integer({
    min: Date.parse("2026-01-01T00:00Z") / minute,
    max: Date.parse("2027-06-01T00:00Z") / minute,
  })
  .map((minutes) => minutes * minute);
/** No time of day at which clocks change. */
const someTime = fc
  .integer({ min: 8 * 2, max: 23 * 2 })
  .map(
    (halves) =>
      `${String(Math.floor(halves / 2)).padStart(2, "0")}:${halves % 2 === 0 ? "00" : "30"}`,
  );

const someWindow = fc
  .record({
    kind: fc.constantFrom("allowed", "freeze"),
    time_zone: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"),
    days: fc.option(fc.uniqueArray(fc.constantFrom(...weekdays), { minLength: 1 }), {
      nil: undefined,
    }),
    times: fc.option(fc.tuple(someTime, someTime), { nil: undefined }),
    valid: fc.option(fc.tuple(someMinute, fc.integer({ min: 1, max: 20_000 })), { nil: undefined }),
  })
  .filter(
    ({ kind, days, times, valid }) => kind === "freeze" || (days ?? times ?? valid) !== undefined,
  )
  .map(({ times, valid, ...rest }) =>
    window({
      ...rest,
      ...(times !== undefined && { from: times[0], to: times[1] }),
      ...(valid !== undefined && {
        starts: toIso(valid[0]),
        ends: toIso(valid[0] + valid[1] * minute),
      }),
    }),
  );
const someWindows = fc.array(someWindow, { maxLength: 5 });

/** By the digits that a clock in that zone shows. */
function isOpenOnTheClock(windows: readonly RolloutWindow[], ms: number): boolean {
  const covering = windows.filter((one) => covers(one, ms));
  const restricts = windows.some(({ kind }) => kind === "allowed");
  const isAllowed = !restricts || covering.some(({ kind }) => kind === "allowed");
  return isAllowed && covering.every(({ kind }) => kind !== "freeze");
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const clock = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  clocks.set(timeZone, clock);
  return clock;
}

function covers(one: RolloutWindow, ms: number): boolean {
  const { days, from, to, time_zone: timeZone } = one;
  if (!isValidAt(one, ms)) return false;
  const clock = clocks.get(timeZone) ?? clockOf(timeZone);
  const parts = Object.fromEntries(clock.formatToParts(ms).map(({ type, value }) => [type, value]));
  const time = `${parts["hour"]}:${parts["minute"]}`;
  const today = weekdays.indexOf(
    (parts["weekday"] ?? "").toLowerCase() as (typeof weekdays)[number],
  );
  const begins = (day: number) =>
    days === undefined || days.includes(weekdays[(day + 7) % 7] ?? "mon");
  if (from === undefined || to === undefined) return begins(today);
  if (from < to) return begins(today) && from <= time && time < to;
  return (begins(today) && from <= time) || (begins(today - 1) && time < to);
}

function isValidAt({ starts, ends }: RolloutWindow, ms: number): boolean {
  return (
    (starts === undefined || ms >= Date.parse(starts)) &&
    (ends === undefined || ms < Date.parse(ends))
  );
}

it("a calendar agrees with the wall clock of each minute", () => {
  fc.assert(
    fc.property(someWindows, someMinute, (windows, startMs) => {
      const isOpen = (ms: number) => isOpenOnTheClock(windows, ms);
      const next = createCalendar(windows, startMs).nextOpening(startMs);
      const until = Math.min(next ?? Number.POSITIVE_INFINITY, startMs + 3 * 1_440 * minute);
      for (let ms = startMs; ms < until; ms += minute)
        expect([toIso(ms), isOpen(ms)]).toEqual([toIso(ms), false]);
      if (next !== undefined) expect([toIso(next), isOpen(next)]).toEqual([toIso(next), true]);
    }),
    { numRuns: 200, seed: 20261123 },
  );
});
