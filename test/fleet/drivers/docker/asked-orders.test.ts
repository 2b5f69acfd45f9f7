/** The time that a deploy has left once its image is there. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { AskedOrders } from "#fleet/drivers/docker/host.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Asks for the order of a deploy at the end of each of these spans. */
function askAfter(...spansMs: number[]): number {
  const asked = new AskedOrders();
  for (const ms of spansMs) {
    vi.advanceTimersByTime(ms);
    asked.add("d1");
  }
  return asked.msSince("d1");
}

it("an order that is polled was first asked for at its first poll", () => {
  expect(askAfter(0, 30_000, 45_000, 2_000)).toBe(77_000);
});

it("an order that a resumed rollout repeats an hour later has all of its time again", () => {
  expect(askAfter(0, 30_000, 3_600_000, 5_000)).toBe(5_000);
});
