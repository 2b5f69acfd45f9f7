import { expect, it } from "vitest";
import { whenOf } from "#console/web/rows/windows.ts";
import { when } from "#console/web/times.ts";

type Times = Parameters<typeof whenOf>[0];

const starts = "2026-12-20T00:00:00.000Z";
const ends = "2027-01-04T00:00:00.000Z";

it.each<[Partial<Times>, string]>([
  [{}, "until it is removed"],
  [{ days: ["thu", "mon", "tue", "wed"] }, "Mon to Thu, UTC"],
  [{ days: ["mon", "tue", "sat"] }, "Mon, Tue, Sat, UTC"],
  [{ days: ["mon", "wed", "thu", "fri", "sun"] }, "Mon, Wed to Fri, Sun, UTC"],
  [{ from: "09:00", to: "16:00" }, "daily, 09:00 to 16:00, UTC"],
  [{ from: "22:00", to: "06:00" }, "daily, 22:00 to 06:00 the next day, UTC"],
  [{ from: "09:00", to: "09:00" }, "daily, 09:00 to 09:00 the next day, UTC"],
  [{ starts, ends }, `from ${when(starts)} until ${when(ends)}`],
  [{ days: ["fri"], ends }, `Fri, UTC; until ${when(ends)}`],
])("says of %j: %s", (times, words) => {
  expect(whenOf({ time_zone: "UTC", ...times })).toBe(words);
});

it("says the year of a bound", () => {
  expect(whenOf({ time_zone: "UTC", ends: "2027-06-15T12:00:00Z" })).toMatch(/until .*2027/);
});
