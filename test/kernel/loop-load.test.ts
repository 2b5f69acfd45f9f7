import { expect, it } from "vitest";
import { createIsLoopBusy } from "#api/analytics/recording/journal.ts";

type Worked = { active: number; idle: number };

/** A loop whose time and work a test adds. */
function fakeLoop() {
  const total = { nowMs: 0, active: 0 };
  const loop = {
    now: () => total.nowMs,
    eventLoopUtilization: (later?: Worked, earlier?: Worked) => {
      const until = later ?? { active: total.active, idle: total.nowMs - total.active };
      const active = until.active - (earlier?.active ?? 0);
      const idle = until.idle - (earlier?.idle ?? 0);
      return { active, idle, utilization: active + idle === 0 ? 0 : active / (active + idle) };
    },
  };
  const pass = (ms: number, active: number) => {
    total.nowMs += ms;
    total.active += active;
  };
  return { loop, pass };
}

it("is busy while the loop worked for most of the last tenth of a second", () => {
  const { loop, pass } = fakeLoop();
  const isBusy = createIsLoopBusy(loop);
  expect(isBusy()).toBe(false);

  pass(100, 69);
  expect(isBusy()).toBe(false);
  pass(100, 70);
  expect(isBusy()).toBe(true);
  pass(100, 10);
  expect(isBusy()).toBe(false);
});

it("does not measure more often", () => {
  const { loop, pass } = fakeLoop();
  const isBusy = createIsLoopBusy(loop);

  pass(99, 99);
  expect(isBusy()).toBe(false);
  pass(1, 1);
  expect(isBusy()).toBe(true);
});

it("is not busy after a long time without work, however busy it was before", () => {
  const { loop, pass } = fakeLoop();
  const isBusy = createIsLoopBusy(loop);
  pass(100, 100);
  expect(isBusy()).toBe(true);

  pass(60_000, 5);
  expect(isBusy()).toBe(false);
});
