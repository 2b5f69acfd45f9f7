import { describe, expect, it } from "vitest";
import { nextPollMs } from "#fleet/deploys/service.ts";

/** How often a deploy of so long is looked at. */
const countLooks = (deployMs: number) => {
  let count = 0;
  let pollMs = 200;
  for (let watchedMs = 0; watchedMs < deployMs; count++) {
    watchedMs += pollMs;
    pollMs = nextPollMs(pollMs, { watch: { atMs: 0, watchedMs } });
  }
  return count;
};

describe("the polls of a deploy", () => {
  it.each([
    [200, 400],
    [1_600, 2_000],
    [2_000, 2_000],
  ])("come %i ms, then %i ms apart at first", (pollMs, next) => {
    expect(nextPollMs(pollMs, { watch: { atMs: 0, watchedMs: 60_000 } })).toBe(next);
  });

  it("grow rarer the longer it takes, but never rarer than 30 s", () => {
    expect(nextPollMs(8_000, { watch: { atMs: 0, watchedMs: 1_000_000 } })).toBe(10_000);
    expect(nextPollMs(30_000, { watch: { atMs: 0, watchedMs: 80_000_000 } })).toBe(30_000);
  });

  it("are few enough for a journal, however long its deadline", () => {
    expect(countLooks(600_000)).toBeGreaterThan(200);
    expect(countLooks(86_400_000)).toBeLessThan(3_500);
  });

  it("stay at 2 s in a deploy of which no time was watched yet", () => {
    expect(nextPollMs(2_000, {})).toBe(2_000);
  });
});
