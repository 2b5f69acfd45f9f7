import { describe, expect, it } from "vitest";
import { countTimes, findCronFault, timeAfter, timeUpTo } from "#kernel/cron-times.ts";

const berlin = (expression: string) => ({ expression, timezone: "Europe/Berlin" });
const at = (text: string) => Date.parse(text);
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

function next(times: { expression: string; timezone: string }, from: string, count: number) {
  const found: (string | null)[] = [];
  for (let ms: number | null = at(from); ms !== null && found.length < count; ) {
    ms = timeAfter(times, ms);
    found.push(iso(ms));
  }
  return found;
}

describe("a time in a zone", () => {
  it("is strictly after one instant, and not after another", () => {
    const times = berlin("0 3 * * *");

    expect(iso(timeAfter(times, at("2026-11-24T01:59:59.999Z")))).toBe("2026-11-24T02:00:00.000Z");
    expect(iso(timeAfter(times, at("2026-11-24T02:00:00Z")))).toBe("2026-11-25T02:00:00.000Z");
    expect(iso(timeUpTo(times, at("2026-11-24T02:00:00Z")))).toBe("2026-11-24T02:00:00.000Z");
    expect(iso(timeUpTo(times, at("2026-11-24T01:59:59.999Z")))).toBe("2026-11-23T02:00:00.000Z");
  });

  it.each([
    [
      berlin("30 2 * * *"),
      "2027-03-27T12:00Z",
      ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"],
    ],
    [
      berlin("30 2 * * *"),
      "2026-10-24T12:00Z",
      ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"],
    ],
    [
      { expression: "30 2 * * *", timezone: "America/New_York" },
      "2027-03-13T12:00Z",
      ["2027-03-14T07:00:00.000Z", "2027-03-15T06:30:00.000Z"],
    ],
    [
      { expression: "30 1 * * *", timezone: "America/New_York" },
      "2026-10-31T12:00Z",
      ["2026-11-01T05:30:00.000Z", "2026-11-02T06:30:00.000Z"],
    ],
  ])("%j comes once around a change of the clocks, after %s", (times, from, expected) => {
    expect(next(times, from, 2)).toEqual(expected);
  });

  it("goes by the clock where the field begins with an asterisk", () => {
    expect(next(berlin("0 * * * *"), "2026-10-24T23:30Z", 3)).toEqual([
      "2026-10-25T00:00:00.000Z",
      "2026-10-25T01:00:00.000Z",
      "2026-10-25T02:00:00.000Z",
    ]);
  });

  it("is counted up to a limit", () => {
    const span = { fromMs: at("2026-11-24T00:00Z"), toMs: at("2026-11-25T00:00Z") };

    expect(countTimes(berlin("0 * * * *"), { ...span, most: 1_000 })).toBe(24);
    expect(countTimes(berlin("0 * * * *"), { ...span, most: 10 })).toBe(10);
  });
});

describe("an expression", () => {
  it.each(["0 3 * * 1-5", "*/5 * * * *", "@daily", "0 0 L * *", "0 0 29 2 *"])(
    "%s is fine",
    (expression) => {
      expect(findCronFault(berlin(expression))).toBeNull();
    },
  );

  it.each([
    "",
    "0 3 * *",
    "0 0 3 * * *",
    "@reboot",
    "2027-01-01T00:00:00",
    "5/15 * * * *",
    "61 * * * *",
    "0 0 31 2 *",
  ])("%j is refused", (expression) => {
    expect(findCronFault(berlin(expression))?.field).toBe("cron");
  });

  it.each(["", "+02:00", "-05:00", "Mars/Olympus"])("the zone %j is refused", (timezone) => {
    expect(findCronFault({ expression: "0 3 * * *", timezone })?.field).toBe("timezone");
  });
});
