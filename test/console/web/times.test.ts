import { describe, expect, it } from "vitest";
import { createTimes } from "#console/web/times.ts";

const nowMs = Date.parse("2026-11-26T12:00:00Z");
const locales = ["en-US", "de-DE", "ar-EG", "fa-IR"];

/** Locales set a narrow space where a test has a plain one. */
const plain = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, " ");

describe.each([
  ["en-US", ["11:05:09 AM", "5:00 PM", "Nov 25, 11:05 PM", "Jan 3, 2027, 11:00 AM", "1:00:03 PM"]],
  ["de-DE", ["11:05:09", "17:00", "25. Nov., 23:05", "3. Jan. 2027, 11:00", "13:00:03"]],
])("in %s", (locale, [passed, due, other, next, now]) => {
  const { when } = createTimes(locale, "Europe/Berlin");

  it.each([
    ["a time of today that has passed", "2026-11-26T10:05:09Z", passed],
    ["a time of today that will come", "2026-11-26T16:00:00Z", due],
    ["what has just happened, by a clock that is ahead", "2026-11-26T12:00:03Z", now],
    ["a time of the day before", "2026-11-25T22:05:09Z", other],
    ["a time of the next year", "2027-01-03T10:00:00Z", next],
  ])("shows %s", (_of, iso, shown) => {
    expect(plain(when(iso, nowMs))).toBe(shown);
  });
});

it("takes the day of the time zone, not that of UTC", () => {
  const lateInBerlin = Date.parse("2026-11-26T23:30:00Z");
  const { when } = createTimes("de-DE", "Europe/Berlin");

  expect(when("2026-11-26T22:30:00Z", lateInBerlin)).toBe("26. Nov., 23:30");
  expect(when("2026-11-26T23:10:00Z", lateInBerlin)).toBe("00:10:00");
});

it("names the year, the second and the time zone of an exact time", () => {
  const { exact } = createTimes("en-US", "Europe/Berlin");

  expect(plain(exact("2026-11-26T10:05:09Z"))).toBe("Nov 26, 2026, 11:05:09 AM GMT+1");
});

it.each(["ar-EG", "fa-IR"])("keeps the words around a time of %s in their order", (locale) => {
  const { when } = createTimes(locale, "Africa/Cairo");

  const shown = when("2026-11-25T10:05:09Z", nowMs);

  expect(shown).toMatch(/^\u2068.+\u2069$/);
  expect(shown).not.toMatch(/[0-9]/);
});

it.each(locales)("shows what is no time as it is, in %s", (locale) => {
  const { when, exact } = createTimes(locale);

  expect([when("soon", nowMs), exact("soon")]).toEqual(["soon", "soon"]);
});
