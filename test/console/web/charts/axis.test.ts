import { describe, expect, it } from "vitest";
import { counts, durations, elapsed, timeLabels } from "#console/web/charts/axis.ts";
import { createTimes } from "#console/web/times.ts";

describe("an axis of counts", () => {
  it("has whole steps only", () => {
    expect(counts.steps.filter((step) => !Number.isInteger(step))).toEqual([]);
  });
});

describe("an axis of durations", () => {
  it.each([
    [
      [0, 200, 400],
      ["0 ms", "200 ms", "400 ms"],
    ],
    [
      [0, 0.2, 0.4],
      ["0 ms", "0.2 ms", "0.4 ms"],
    ],
    [
      [0, 500, 1_000, 1_500, 2_000],
      ["0 s", "0.5 s", "1 s", "1.5 s", "2 s"],
    ],
    [
      [0, 10_000, 20_000],
      ["0 s", "10 s", "20 s"],
    ],
  ])("labels %j in one unit", (values, labels) => {
    expect(durations.labels(values)).toEqual(labels);
  });

  it("has no two labels that are the same, whatever its step", () => {
    for (const step of durations.steps.filter((one) => one <= 100_000)) {
      const labels = durations.labels([0, 1, 2, 3, 4].map((n) => n * step));

      expect(new Set(labels).size, labels.join()).toBe(5);
    }
  });
});

it("labels the time since a start in spans of a clock", () => {
  expect(elapsed.labels([0, 90, 3_600])).toEqual(["0 s", "1 min 30 s", "1 h"]);
});

describe("an axis of times", () => {
  const hours = ["2026-12-31T20:00:00Z", "2026-12-31T22:00:00Z", "2027-01-01T00:00:00Z"];
  const seconds = hours.map((iso) => Date.parse(iso) / 1_000);

  it.each([
    ["en-US", ["9:00 PM\nDec 31", "11:00 PM", "1:00 AM\nJan 1"]],
    ["de-DE", ["21:00\n31. Dez.", "23:00", "01:00\n1. Jan."]],
  ])("has the clock of %s, and the day where it begins", (locale, labels) => {
    const shown = timeLabels(seconds, 7_200, createTimes(locale, "Europe/Berlin"));

    expect(shown.map((label) => label.replaceAll("\u202f", " "))).toEqual(labels);
  });

  it("has seconds if a step is less than a minute", () => {
    const at = Date.parse("2026-12-31T20:00:00Z") / 1_000;

    const shown = timeLabels([at, at + 15], 15, createTimes("de-DE", "UTC"));

    expect(shown).toEqual(["20:00:00\n31. Dez.", "20:00:15"]);
  });

  it("has days and, where it begins, the year, if a step is a day", () => {
    const days = ["2026-12-30", "2026-12-31", "2027-01-01"].map((day) => Date.parse(day) / 1_000);

    const shown = timeLabels(days, 86_400, createTimes("en-US", "UTC"));

    expect(shown).toEqual(["Dec 30\n2026", "Dec 31", "Jan 1\n2027"]);
  });
});
