/** The calendar of time zones, compared with `Temporal`, which the Node of these tests has. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { dayAt, type InDoubt, msAtClock, weekdayOf } from "#kernel/time.ts";

const dayMs = 86_400_000;
/** Some of these change their clocks by half an hour, at midnight, or by a whole day. */
const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "America/Havana",
  "Asia/Kolkata",
  "Asia/Tehran",
  "Australia/Lord_Howe",
  "Africa/Casablanca",
  "Pacific/Apia",
  "Pacific/Kiritimati",
];
const someZone = fc.constantFrom(...zones);
const someMs = fc.integer({ min: Date.parse("1970-01-02"), max: Date.parse("2999-12-31") });
/** More often a time of day at which clocks change. */
const someTime = fc.oneof(
  fc.constantFrom("00:00", "00:30", "01:59", "02:00", "02:30", "03:00", "23:30"),
  fc
    .integer({ min: 0, max: 1_439 })
    .map((all) => [all / 60, all % 60].map((n) => `${Math.floor(n)}`.padStart(2, "0")).join(":")),
);

function dateOf(day: number): Temporal.PlainDate {
  return Temporal.PlainDate.from("1970-01-01").add({ days: day });
}

it("agrees with Temporal on the day and the weekday of a time", () => {
  fc.assert(
    fc.property(someZone, someMs, (zone, ms) => {
      const date = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone);

      const day = dayAt(zone, ms);

      expect(dateOf(day).toString()).toBe(date.toPlainDate().toString());
      expect(weekdayOf(day)).toBe(date.dayOfWeek - 1);
    }),
    { numRuns: 3_000, seed: 20261124 },
  );
});

it.each<InDoubt>(["earlier", "later", "compatible"])(
  "agrees with Temporal on when clocks show a time, %s where that is in doubt",
  (inDoubt) => {
    const someDay = fc.integer({ min: 1, max: 2 * 36_525 });
    fc.assert(
      fc.property(someZone, someDay, someTime, (timeZone, day, time) => {
        const expected = dateOf(day)
          .toPlainDateTime(time)
          .toZonedDateTime(timeZone, { disambiguation: inDoubt });

        expect(msAtClock({ timeZone, day, time }, inDoubt)).toBe(expected.epochMilliseconds);
      }),
      { numRuns: 3_000, seed: 20261124 },
    );
  },
);

it.each([
  ["that is left out", "2026-03-29", "02:30"],
  ["that comes twice", "2026-10-25", "02:30"],
])("takes a time %s as it is told to", (_, date, time) => {
  const day = Date.parse(date) / dayMs;
  const at = (inDoubt: InDoubt) => msAtClock({ timeZone: "Europe/Berlin", day, time }, inDoubt);

  expect(at("later") - at("earlier")).toBe(3_600_000);
});

it("knows weekdays before 1970", () => {
  expect([-4, -3, 3, 4].map(weekdayOf)).toEqual([6, 0, 6, 0]);
});
