import { describe, expect, it } from "vitest";
import {
  dailyAt,
  describeSchedule,
  dueAfterStart,
  everyMinutes,
  isStuck,
  nextTick,
} from "#cron/schedule.ts";

const at = (text: string) => Date.parse(text);

describe("nextTick", () => {
  it.each([
    ["every minute", everyMinutes(1), "2026-11-21T03:04:59.999Z", "2026-11-21T03:05:00Z"],
    ["exactly on a grid point", everyMinutes(1), "2026-11-21T03:04:00Z", "2026-11-21T03:05:00Z"],
    ["every five minutes", everyMinutes(5), "2026-11-21T03:06:00Z", "2026-11-21T03:10:00Z"],
    ["daily, before its hour", dailyAt(15), "2026-11-21T14:59:59Z", "2026-11-21T15:00:00Z"],
    ["daily, after its hour", dailyAt(15), "2026-11-21T15:00:01Z", "2026-11-22T15:00:00Z"],
    ["daily at midnight, over a month", dailyAt(0), "2026-11-30T12:00:00Z", "2026-12-01T00:00:00Z"],
  ])("%s", (_, schedule, after, next) => {
    const tick = nextTick(schedule, at(after));

    expect(new Date(tick)).toEqual(new Date(next));
  });

  it("does not drift when each tick comes late", () => {
    let tick = nextTick(everyMinutes(1), at("2026-11-21T00:00:00Z"));
    for (let n = 0; n < 1_000; n += 1) tick = nextTick(everyMinutes(1), tick + 731);

    expect(new Date(tick)).toEqual(new Date("2026-11-21T16:41:00Z"));
  });
});

describe("dueAfterStart", () => {
  const schedule = everyMinutes(5);
  const nowMs = at("2026-11-21T03:02:00Z");
  const timer = (dueAt: string) => ({ generation: 4, dueAtMs: at(dueAt), schedule });

  it("sets the first timer to the next grid point", () => {
    const due = dueAfterStart(null, { schedule, nowMs });

    expect(due).toEqual({ isArmed: false, dueAtMs: at("2026-11-21T03:05:00Z") });
  });

  it("has no wait before the first run of a job that runs at once", () => {
    const due = dueAfterStart(null, { schedule, runsAtOnce: true, nowMs });

    expect(due).toEqual({ isArmed: false, dueAtMs: nowMs });
  });

  it("leaves a timer alone that is set to the next grid point", () => {
    const due = dueAfterStart(timer("2026-11-21T03:05:00Z"), { schedule, nowMs });

    expect(due.isArmed).toBe(true);
  });

  it("runs at once, and once, what came due while everything was down", () => {
    const due = dueAfterStart(timer("2026-11-21T01:00:00Z"), { schedule, nowMs });

    expect(due).toEqual({ isArmed: false, dueAtMs: nowMs });
  });

  it("sets the timer anew when the schedule is another one", () => {
    const due = dueAfterStart(timer("2026-11-21T03:05:00Z"), { schedule: dailyAt(0), nowMs });

    expect(due).toEqual({ isArmed: false, dueAtMs: at("2026-11-22T00:00:00Z") });
  });

  it("sets the timer anew when the clock was set back", () => {
    const due = dueAfterStart(timer("2026-11-21T09:00:00Z"), { schedule, nowMs });

    expect(due).toEqual({ isArmed: false, dueAtMs: at("2026-11-21T03:05:00Z") });
  });
});

describe("isStuck", () => {
  const schedule = everyMinutes(5);
  const nowMs = at("2026-11-21T03:04:58Z");

  it.each([
    ["set well", "2026-11-21T03:05:00Z", false],
    ["set by a clock that is a little ahead", "2026-11-21T03:10:00Z", false],
    ["set by a tick that Restate's clock brought minutes early", "2026-11-21T03:15:00Z", false],
    ["a moment late", "2026-11-21T03:04:50Z", false],
    ["long overdue", "2026-11-21T03:00:00Z", true],
    ["set by a clock that was far ahead", "2026-12-21T03:05:00Z", true],
  ])("a timer that is %s", (_, dueAt, stuck) => {
    const timer = { generation: 4, dueAtMs: at(dueAt), schedule };

    expect(isStuck(timer, schedule, nowMs)).toBe(stuck);
    expect(dueAfterStart(timer, { schedule, nowMs }).isArmed).toBe(!stuck && timer.dueAtMs > nowMs);
  });

  it("none at all", () => {
    expect(isStuck(null, schedule, nowMs)).toBe(true);
  });
});

it.each([
  [everyMinutes(1), "every minute"],
  [everyMinutes(5), "every 5 minutes"],
  [dailyAt(0), "every day at 00:00 UTC"],
  [dailyAt(15), "every day at 15:00 UTC"],
])("says a schedule in words", (schedule, words) => {
  expect(describeSchedule(schedule)).toBe(words);
});
