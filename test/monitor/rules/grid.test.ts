import { expect, it } from "vitest";
import { gridOf, isWithinReach, nextTick, planWake } from "#monitor/rules/grid.ts";

const grid = { everyMs: 60_000, offsetMs: 7_000 };

it("the ticks of a check are on a grid that its id decides", () => {
  const first = gridOf({ id: "verify-key", frequencySeconds: 60 });
  const other = gridOf({ id: "liveness", frequencySeconds: 60 });

  expect(first).toEqual(gridOf({ id: "verify-key", frequencySeconds: 60 }));
  expect(first.offsetMs).not.toBe(other.offsetMs);
});

it("a grid has the next tick after a moment, also after a moment on the grid", () => {
  expect(nextTick(grid, 0)).toBe(7_000);
  expect(nextTick(grid, 7_000)).toBe(67_000);
});

it("a tick that is a little late is run and does not move the next one", () => {
  const wake = planWake(grid, { dueMs: 67_000, nowMs: 67_900 });

  expect(wake).toEqual({ runAtMs: 67_000, missed: null, nextMs: 127_000 });
});

it("the plan does not run a tick twice when the clock fires early", () => {
  const wake = planWake(grid, { dueMs: 67_000, nowMs: 66_990 });

  expect(wake).toEqual({ runAtMs: 67_000, missed: null, nextMs: 127_000 });
});

it("the plan follows the current clock when it was set back since the timer was set", () => {
  const wake = planWake(grid, { dueMs: 67_000 + 3_600_000, nowMs: 67_900 });

  expect(wake).toEqual({ runAtMs: 67_000, missed: null, nextMs: 127_000 });
});

it("skips missed ticks, and says how many", () => {
  const wake = planWake(grid, { dueMs: 67_000, nowMs: 250_000 });

  const missed = { fromMs: 67_000, toMs: 187_000, ticks: 3 };
  expect(wake).toEqual({ runAtMs: 247_000, missed, nextMs: 307_000 });
});

it("misses a tick too when more than half of its period is over", () => {
  const wake = planWake(grid, { dueMs: 67_000, nowMs: 67_000 + 30_001 });

  const missed = { fromMs: 67_000, toMs: 67_000, ticks: 1 };
  expect(wake).toEqual({ runAtMs: null, missed, nextMs: 127_000 });
});

it("the plan does not wait for a timer that was set by a clock far ahead", () => {
  expect(isWithinReach(grid, { dueMs: 67_000, nowMs: 60_000 })).toBe(true);
  expect(isWithinReach(grid, { dueMs: 127_000, nowMs: 60_000 })).toBe(true);
  expect(isWithinReach(grid, { dueMs: 187_000, nowMs: 60_000 })).toBe(false);
});
