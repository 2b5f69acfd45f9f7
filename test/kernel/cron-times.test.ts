import { describe, expect, it } from "vitest";
import type { CronDialect } from "#kernel/cron-expression.ts";
import {
  type CronTimes,
  countTimes,
  findCronFault,
  timeAfter,
  timeUpTo,
} from "#kernel/cron-times.ts";

const berlin = (expression: string) => ({ expression, timezone: "Europe/Berlin" });
const at = (text: string) => Date.parse(text);
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

function next(times: CronTimes, from: string, count: number) {
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

  it.each([
    ["0 * * * *", "2026-10-24T23:30Z", ["00:00", "01:00", "02:00"]],
    ["*/30 2 * * *", "2026-10-24T23:30Z", ["00:00", "00:30", "01:00", "01:30"]],
    ["30 */2 * * 0", "2026-10-25T00:30Z", ["01:30", "03:30"]],
  ])("%s runs again in the hour that comes twice", (expression, from, expected) => {
    const found = next(berlin(expression), from, expected.length);

    expect(found).toEqual(expected.map((time) => `2026-10-25T${time}:00.000Z`));
  });

  it.each([
    ["0-59/30 2 * * *", ["10-25T00:00", "10-25T00:30", "10-26T01:00"]],
    ["0 1-23/2 * * *", ["10-24T23:00", "10-25T02:00"]],
    ["0 0-23 * * *", ["10-24T23:00", "10-25T00:00", "10-25T02:00"]],
    ["0,30 1-3 * * *", ["10-24T23:00", "10-24T23:30", "10-25T00:00", "10-25T00:30", "10-25T02:00"]],
  ])("%s, whose fields begin with no asterisk, does not run again", (expression, expected) => {
    const found = next(berlin(expression), "2026-10-24T22:30Z", expected.length);

    expect(found).toEqual(expected.map((time) => `2026-${time}:00.000Z`));
  });

  it.each([
    ["debian", ["01T05:00", "01T08:00", "01T10:00"]],
    ["kubernetes", ["01T05:00", "01T06:00", "01T08:00"]],
  ] as const)("in New York hour 1 comes twice: by the rules of %s", (dialect, expected) => {
    const times = { expression: "0 1-23/2 * * *", timezone: "America/New_York", dialect };

    expect(next(times, "2026-11-01T04:00Z", 3)).toEqual(
      expected.map((time) => `2026-11-${time}:00.000Z`),
    );
  });

  it.each([
    ["30 2 * * *", "2027-03-27T12:00Z", "2027-03-28T01:00:00.000Z"],
    ["0-59/30 2 * * *", "2027-03-27T12:00Z", "2027-03-28T01:00:00.000Z"],
    ["*/30 2 * * *", "2027-03-27T12:00Z", "2027-03-29T00:00:00.000Z"],
    ["30 */2 * * *", "2027-03-27T23:30Z", "2027-03-28T02:30:00.000Z"],
  ])(
    "%s in the hour that is skipped is made up for only where it is fixed",
    (cron, from, first) => {
      expect(next(berlin(cron), from, 1)).toEqual([first]);
    },
  );

  it("is right after the gap also when it is asked for within the second before", () => {
    expect(next(berlin("30 2 * * *"), "2027-03-28T00:59:59.999Z", 1)).toEqual([
      "2027-03-28T01:00:00.000Z",
    ]);
  });

  it("is counted up to a limit", () => {
    const span = { fromMs: at("2026-11-24T00:00Z"), toMs: at("2026-11-25T00:00Z") };

    expect(countTimes(berlin("0 * * * *"), { ...span, most: 1_000 })).toBe(24);
    expect(countTimes(berlin("0 * * * *"), { ...span, most: 10 })).toBe(10);
  });
});

describe("the last time", () => {
  it.each([
    ["* 3 1 * *", "2026-11-24T00:00Z", "2026-11-01T02:59:00.000Z"],
    ["0 0 29 2 */7", "2026-11-24T00:00Z", "2004-02-28T23:00:00.000Z"],
    ["30 2 * * *", "2026-10-25T02:00Z", "2026-10-25T00:30:00.000Z"],
    ["*/30 2 * * *", "2026-10-25T02:00Z", "2026-10-25T01:30:00.000Z"],
    ["30 2 * * *", "2027-03-28T01:00Z", "2027-03-28T01:00:00.000Z"],
    ["* * * * *", "2026-11-24T00:00:59Z", "2026-11-24T00:00:00.000Z"],
  ])("of %s up to %s is found", (expression, upTo, expected) => {
    expect(iso(timeUpTo(berlin(expression), at(upTo)))).toBe(expected);
  });
});

describe("the two fields of a day", () => {
  const november = (expression: string, dialect: CronDialect) =>
    next({ expression, timezone: "UTC", dialect }, "2026-10-31T12:00Z", 4).map((time) =>
      Number(time?.slice(8, 10)),
    );

  it.each([
    ["0 0 1-7 * */7", [1, 6, 3, 7]],
    ["0 5 */1 * 1-5", [2, 3, 4, 5]],
    ["0 5 */2 * 1-5", [3, 5, 9, 11]],
    ["0 5 1-31/2 * 1-5", [1, 2, 3, 4]],
    ["0 5 13 * 5", [6, 13, 20, 27]],
    ["0 5 13 * *", [13, 13, 13, 13]],
    ["0 5 *,1 * 1", [2, 9, 16, 23]],
    ["0 5 1,* * 1", [1, 2, 3, 4]],
  ])("of %s have to fit both for Debian where one begins with an asterisk", (cron, days) => {
    expect(november(cron, "debian")).toEqual(days);
  });

  it.each([
    ["0 0 1-7 * */7", [1, 2, 3, 4]],
    ["0 5 */1 * 1-5", [2, 3, 4, 5]],
    ["0 5 */2 * 1-5", [1, 2, 3, 4]],
    ["0 5 1,* * 1", [2, 9, 16, 23]],
    ["0 5 ? * 1", [2, 9, 16, 23]],
    ["0 5 20/5 * *", [20, 25, 30, 20]],
  ])("of %s have to fit both for Kubernetes where one has no step", (cron, days) => {
    expect(november(cron, "kubernetes")).toEqual(days);
  });
});

describe("a CronJob where the clocks change", () => {
  const find = (expression: string, timezone: string, from: string) =>
    next({ expression, timezone, dialect: "kubernetes" }, from, 2);

  it("runs by what they show: twice in the hour that comes twice, never in the one that is skipped", () => {
    expect(find("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00Z")).toEqual([
      "2026-10-25T00:30:00.000Z",
      "2026-10-25T01:30:00.000Z",
    ]);
    expect(find("30 2 * * *", "Europe/Berlin", "2027-03-27T00:00Z")).toEqual([
      "2027-03-27T01:30:00.000Z",
      "2027-03-29T00:30:00.000Z",
    ]);
  });

  it("does not run all day if midnight is skipped", () => {
    expect(find("0 12 * * 5", "Africa/Cairo", "2026-04-18T00:00Z")).toEqual([
      "2026-05-01T09:00:00.000Z",
      "2026-05-08T09:00:00.000Z",
    ]);
  });
});

describe("an expression", () => {
  it.each([
    ...["0 3 * * 1-5", "*/5 * * * *", "@daily", "@midnight", "@annually", "0 0 29 2 *"],
    ...[
      "0 0 * jan-MAR Mon",
      "0 0 * * 7",
      "0 0 * * fri-7",
      "0 0 */40 * *",
      "00 03 * * *",
      "0\t3  * * *",
    ],
  ])("%s is fine", (expression) => {
    expect(findCronFault(berlin(expression))).toBeNull();
  });

  it.each([
    ...["", "0 3 * *", "0 0 3 * * *", "2027-01-01T00:00:00", "@Daily", "@every 1h", "@reboot"],
    ...["5/15 * * * *", "61 * * * *", "0 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 8"],
    ...["0 0 31 2 *", "0 0 ? * *", "0 0 L * *", "0 0 * * 5#2", "0 0 * * monday", "*/0 * * * *"],
    ...["0 0 * * 5-1", "0 22-2 * * *", "0~30 * * * *", "H * * * *", "1,,2 * * * *", "*5 * * * *"],
    ...["5-64/30 * * * *", "-5 * * * *", "1-5-7 * * * *", "1/2/3 * * * *", "0 0 mon * *"],
  ])("%j is refused", (expression) => {
    expect(findCronFault(berlin(expression))?.field).toBe("cron");
  });

  it.each(["5/15 * * * *", "0 0 ? * *", "0 0 * * SUN", "1,,2 * * * *", "@midnight"])(
    "%s is fine for Kubernetes",
    (expression) => {
      expect(findCronFault({ ...berlin(expression), dialect: "kubernetes" })).toBeNull();
    },
  );

  it.each(["0 0 * * 7", "0 0 L * *", "0 0 * * 5-1", ", * * * *", "TZ=UTC 0 0 * * *", "@every 5m"])(
    "%s is refused for Kubernetes",
    (expression) => {
      expect(findCronFault({ ...berlin(expression), dialect: "kubernetes" })?.field).toBe("cron");
    },
  );

  it.each([
    ["@reboot", "runs when a machine starts, which no clock knows"],
    ["0 24 * * *", 'has the hour "24", which is none from 0 to 23, nor a range such as 0-23/2'],
    ["0 0 * * 5-1", 'has the weekday "5-1", which goes backwards: give two, with a comma between'],
    [
      "5/15 * * * *",
      'has the minute "5/15", which Debian\'s cron does not know: give a range, or cronDialect: kubernetes',
    ],
  ])("%s is refused in words that help", (expression, message) => {
    expect(findCronFault(berlin(expression))).toEqual({ field: "cron", message });
  });

  it.each(["", "+02:00", "-05:00", "Mars/Olympus"])("the zone %j is refused", (timezone) => {
    expect(findCronFault({ expression: "0 3 * * *", timezone })?.field).toBe("timezone");
  });
});

it.each(["30 2 * * *", "*/7 1-3 * * *", "0 0 29 2 *", "15 3 * * 1"])(
  "the time after an instant does not depend on what was asked before: %s",
  (expression) => {
    const changes = [at("2027-03-28T00:00Z"), at("2026-10-25T00:00Z")];
    const asked = changes.flatMap((ms) =>
      Array.from({ length: 60 }, (_, i) => ms + ((i * 37) % 60) * 240_000),
    );

    const found = asked.map((ms) => iso(timeAfter(berlin(expression), ms)));

    // With further blanks it is another expression, of which nothing is known.
    const alone = asked.map((ms, i) =>
      iso(timeAfter(berlin(expression.replace(" ", " ".repeat(i + 2))), ms)),
    );
    expect(found).toEqual(alone);
  },
);
