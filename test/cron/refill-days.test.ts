import { expect, it } from "vitest";
import { refillDaysDue } from "#cron/jobs/keys.ts";

const day = (text: string) => Date.parse(`${text}T00:00:00Z`);

it.each([
  ["an ordinary day", "2026-11-20", [20]],
  ["the 30th of a month of 31 days", "2026-12-30", [30]],
  ["the last of a month of 31 days", "2026-12-31", [31]],
  ["the last of a month of 30 days", "2026-11-30", [30, 31]],
  ["the last of February", "2026-02-28", [28, 29, 30, 31]],
  ["the 28th of February of a leap year", "2028-02-28", [28]],
  ["the last of February of a leap year", "2028-02-29", [29, 30, 31]],
])("on %s refills the keys of that day", (_, today, days) => {
  const due = refillDaysDue(day(today), day(today) - 86_400_000);

  expect(due).toEqual(days);
});

it("the refill makes up for the days on which nothing ran", () => {
  const due = refillDaysDue(day("2026-12-02"), day("2026-11-28"));

  expect(due).toEqual([1, 2, 29, 30, 31]);
});

it("refills today's keys on the first run ever, and no earlier ones", () => {
  const due = refillDaysDue(day("2026-11-21"), null);

  expect(due).toEqual([21]);
});

it("the refill checks today again when it runs a second time", () => {
  const due = refillDaysDue(day("2026-11-21"), day("2026-11-21"));

  expect(due).toEqual([21]);
});

it("the refill takes every day after a very long absence", () => {
  const due = refillDaysDue(day("2026-11-21"), day("2020-01-01"));

  expect(due).toEqual(Array.from({ length: 31 }, (_, i) => i + 1));
});
