import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countMissed, occurrenceOf, owedAtMs, settledBy } from "#monitor/rules/occurrences.ts";

const minute = 60_000;
const hour = 60 * minute;
const at = (text: string) => Date.parse(text);
const daily = { cron: "0 3 * * *", timezone: "Europe/Berlin", graceSeconds: 3_600 };
const third = at("2026-11-24T02:00Z");

describe("a ping counts for", () => {
  it.each([
    ["a time that it comes late for", third + 50 * minute, third],
    ["a time that is at most a minute ahead", third - minute, third],
    ["the time before, when it is earlier than that", third - minute - 1, third - 24 * hour],
  ])("%s", (_, pingMs, expected) => {
    expect(occurrenceOf(daily, pingMs)).toBe(expected);
  });

  it("a time that is as far ahead as the row says, but never more than half of the gap", () => {
    expect(occurrenceOf({ ...daily, earlySeconds: 1_800 }, third - 30 * minute)).toBe(third);
    expect(occurrenceOf({ ...daily, earlySeconds: 86_400 }, third - 13 * hour)).toBe(
      third - 24 * hour,
    );
  });

  it("the time at which the run began that it ends", () => {
    const hourly = { cron: "0 * * * *", timezone: "UTC", graceSeconds: 5_400 };
    const run = { startedAtMs: third + 2_000, endedAtMs: third + 70 * minute };

    expect(settledBy(hourly, run)).toBe(third);
    expect(settledBy(hourly, { ...run, startedAtMs: null })).toBe(third + hour);
  });

  it("no time of before that was missed: those are counted", () => {
    const pingMs = third + 10 * minute;

    expect(countMissed(daily, { settledMs: third - 72 * hour, pingMs })).toBe(2);
    expect(countMissed({ ...daily, cron: "* * * * *" }, { settledMs: 0, pingMs })).toBe(1_000);
  });
});

it("the times of a schedule are those of its dialect", () => {
  const schedule = { cron: "0 5 */2 * 1-5", timezone: "UTC" };
  const settledMs = at("2026-11-01T12:00Z");

  expect(owedAtMs(schedule, settledMs)).toBe(at("2026-11-03T05:00Z"));
  expect(owedAtMs({ ...schedule, dialect: "kubernetes" }, settledMs)).toBe(at("2026-11-02T05:00Z"));
});

/** Times on a grid, which need no parser. */
const grids = fc.constantFrom(
  { cron: "*/5 * * * *", gapMs: 5 * minute },
  { cron: "0 * * * *", gapMs: hour },
  { cron: "0 0 * * *", gapMs: 24 * hour },
);

it("a ping settles what a naive model says", () => {
  fc.assert(
    fc.property(
      grids,
      fc.integer({ min: at("2026-01-01T00:00Z"), max: at("2027-01-01T00:00Z") }),
      fc.option(fc.integer({ min: 0, max: 7_200 }), { nil: undefined }),
      ({ cron, gapMs }, pingMs, earlySeconds) => {
        const early =
          earlySeconds === undefined
            ? Math.min(minute, gapMs / 4)
            : Math.min(earlySeconds * 1_000, gapMs / 2);
        const begun: number[] = [];
        for (let t = Math.floor(pingMs / gapMs) * gapMs - gapMs; t - early <= pingMs; t += gapMs)
          begun.push(t);
        const schedule = {
          cron,
          timezone: "UTC",
          ...(earlySeconds !== undefined && { earlySeconds }),
        };

        const counted = occurrenceOf(schedule, pingMs) ?? 0;

        expect(counted).toBe(begun.at(-1));
        expect(owedAtMs(schedule, counted)).toBe(counted + gapMs);
      },
    ),
  );
});
