/** When waves may start. */
import { describe, expect, it } from "vitest";
import { toIso } from "#kernel/time.ts";
import { createCalendar, openingAt } from "#rollout/windows/calendar.ts";
import { RolloutWindow } from "#rollout/windows/contract.ts";

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
});
