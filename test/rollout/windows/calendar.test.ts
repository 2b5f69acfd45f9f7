/** When waves may start. The property test compares with a plain look at each minute's wall clock. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toIso } from "#kernel/time.ts";
import { createCalendar, openingAt } from "#rollout/windows/calendar.ts";
import { RolloutWindow, weekdays } from "#rollout/windows/contract.ts";

const window = (over: object) => RolloutWindow.parse({ id: "w", reason: "a test", ...over });

const office = window({
  id: "office",
  kind: "allowed",
  time_zone: "Europe/Berlin",
  days: ["mon", "tue", "wed", "thu", "fri"],
  from: "09:00",
  to: "16:00",
});
const yearEnd = window({
  id: "year-end",
  kind: "freeze",
  starts: "2026-12-20T00:00:00Z",
  ends: "2027-01-04T08:30:00Z",
});

const nextFrom = (windows: RolloutWindow[], at: string) => {
  const next = createCalendar(windows, Date.parse(at)).nextOpening(Date.parse(at));
  return next === undefined ? undefined : toIso(next);
};

describe("a calendar", () => {
  it("is always open without windows", () => {
    expect(openingAt([], Date.parse("2026-03-01T00:00:00Z"))).toEqual({ is_open: true });
  });

  it.each([
    ["on a working day", "2026-03-02T10:00:00Z", "2026-03-02T10:00:00.000Z"],
    ["at the first minute", "2026-03-02T08:00:00Z", "2026-03-02T08:00:00.000Z"],
    ["a millisecond before it", "2026-03-02T07:59:59.999Z", "2026-03-02T08:00:00.000Z"],
    ["at its end, which is not part of it", "2026-03-02T15:00:00Z", "2026-03-03T08:00:00.000Z"],
    ["on a Saturday", "2026-03-07T10:00:00Z", "2026-03-09T08:00:00.000Z"],
    ["over the change to summer time", "2026-03-28T10:00:00Z", "2026-03-30T07:00:00.000Z"],
    ["over the change to winter time", "2026-10-24T10:00:00Z", "2026-10-26T08:00:00.000Z"],
  ])("opens %s when it should", (_, at, next) => {
    expect(nextFrom([office], at)).toBe(next);
  });

  it("waits for the end of a freeze, and then for an allowed window", () => {
    expect(nextFrom([yearEnd], "2026-12-24T10:00:00Z")).toBe("2027-01-04T08:30:00.000Z");
    expect(nextFrom([office, yearEnd], "2026-12-24T10:00:00Z")).toBe("2027-01-04T08:30:00.000Z");
    expect(nextFrom([office, yearEnd], "2026-12-18T16:00:00Z")).toBe("2027-01-04T08:30:00.000Z");
  });

  it("lets a window of the evening end on the next day", () => {
    const night = window({ kind: "allowed", days: ["fri"], from: "22:00", to: "04:00" });

    expect(nextFrom([night], "2026-03-07T03:59:00Z")).toBe("2026-03-07T03:59:00.000Z");
    expect(nextFrom([night], "2026-03-07T04:00:00Z")).toBe("2026-03-13T22:00:00.000Z");
  });

  it("takes a time of day that the change of clocks leaves out as much later", () => {
    const early = window({
      kind: "allowed",
      time_zone: "Europe/Berlin",
      from: "02:30",
      to: "05:00",
    });

    expect(nextFrom([early], "2026-03-29T00:00:00Z")).toBe("2026-03-29T01:30:00.000Z");
  });

  it("lets a freeze be longer where a change of clocks leaves it in doubt", () => {
    const night = (from: string, to: string) =>
      window({ kind: "freeze", time_zone: "Europe/Berlin", from, to });
    const isOpenAt = (freeze: RolloutWindow, at: string) =>
      openingAt([freeze], Date.parse(at)).is_open;

    // 02:30 is left out, and comes twice.
    expect(isOpenAt(night("02:30", "04:00"), "2026-03-29T01:10:00Z")).toBe(false);
    expect(isOpenAt(night("01:00", "02:30"), "2026-10-25T01:15:00Z")).toBe(false);
    expect(isOpenAt(night("01:00", "02:30"), "2026-10-25T01:30:00Z")).toBe(true);
  });

  it("stays closed when the last allowed window is over, and when a freeze has no end", () => {
    const once = window({
      kind: "allowed",
      starts: "2026-03-01T00:00:00Z",
      ends: "2026-03-02T00:00:00Z",
    });
    const closed = window({ id: "closed", kind: "freeze" });
    const nowMs = Date.parse("2026-03-05T00:00:00Z");

    expect(openingAt([once], nowMs)).toEqual({
      is_open: false,
      reason: "it is outside of the allowed windows: w",
    });
    expect(openingAt([closed], nowMs)).toEqual({
      is_open: false,
      reason: "the freeze closed is in force: a test",
    });
  });

  it("agrees with the wall clock of each minute", () => {
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
});

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
