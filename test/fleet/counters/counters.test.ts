import { describe, expect, it } from "vitest";
import {
  boundCounters,
  type Counters,
  chooseBounds,
  countMinute,
  notReported,
} from "#fleet/counters/counters.ts";

const snapshot = (counters: Counters) => new Map([["gw-1", counters]]);

function added(before: Counters, now: Counters, bounds: number[] = [0]) {
  return [...countMinute(snapshot(before), snapshot(now), bounds).columns];
}

describe("the increments of a minute", () => {
  it("are the differences of the counters", () => {
    const before = { requests: 100, errors: 5, slow: 7, restarts: 1 };
    const now = { requests: 150, errors: 6, slow: 9, restarts: 3 };

    expect(added(before, now)).toEqual([50, 1, 2, 2]);
  });

  it("count from 0 and have a restart where a counter is below its last value", () => {
    expect(added({ requests: 100, errors: 5 }, { requests: 30, errors: 2 })).toEqual([30, 2, 1, 0]);
  });

  it("have a restart where the start has changed, even if the counters do not show it", () => {
    const before = { requests: 10, errors: 0, startedAt: 1 };

    expect(added(before, { requests: 30, errors: 0, startedAt: 2 })).toEqual([20, 0, 1, 0]);
  });

  it("have the requests above each bound", () => {
    const before = { requests: 10, errors: 0, latency: { "0.1": 8, "0.2": 9 } };
    const now = { requests: 30, errors: 0, latency: { "0.1": 20, "0.2": 27 } };

    expect(added(before, now, [0.2, 0.1])).toEqual([20, 0, 0, 2, 8]);
  });

  it("are not reported of a sentinel that was not read before, nor above a bound that it does not have", () => {
    const now = new Map<string, Counters>([
      ["gw-1", { requests: 9, errors: 0 }],
      ["gw-2", { requests: 9, errors: 0, latency: { "0.1": 9 } }],
    ]);
    const before = new Map([["gw-2", { requests: 4, errors: 0, latency: { "0.1": 4 } }]]);

    const { columns } = countMinute(before, now, [0.5]);

    expect([...columns]).toEqual([...Array(4).fill(notReported), 5, 0, 0, notReported]);
  });
});

describe("the bound of slow requests", () => {
  const hour = (latency: Record<string, number>) => [{ requests: 1_000, latency }];

  it("is the smallest that at most 5 % of the last hour exceed", () => {
    const latency = { "0.1": 800, "0.2": 949, "0.25": 950, "0.4": 999 };

    expect(chooseBounds([], hour(latency))).toEqual([0.25]);
  });

  it("stays while 1 % to 10 % exceed it", () => {
    expect(chooseBounds([0.2], hour({ "0.1": 800, "0.2": 901, "0.4": 999 }))).toEqual([0.2]);
  });

  it("is followed by earlier ones, since rollouts in progress need theirs, three in all", () => {
    const latency = { "0.1": 100, "0.2": 500, "0.8": 990 };

    expect(chooseBounds([0.2, 0.1, 0.3], hour(latency))).toEqual([0.8, 0.2, 0.1]);
  });

  it("is the fleet's own while no durations are known", () => {
    expect(chooseBounds([], [{ requests: 50, latency: {} }])).toEqual([0]);
  });
});

describe("the metrics that a fleet reports of a sentinel", () => {
  it("are read with their optional members", () => {
    const given = { requests: 10, errors: 1, latency: { "0.10": 9, "+Inf": 10 }, slow: null };
    const started_at = "2026-11-28T12:00:00+01:00";

    expect(boundCounters({ ...given, started_at })).toEqual({
      ...{ requests: 10, errors: 1, latency: { "0.1": 9 } },
      startedAt: Date.parse("2026-11-28T11:00:00Z"),
    });
  });

  it.each([
    ["a text", "10"],
    ["no errors", { requests: 10 }],
    ["a negative count", { requests: -1, errors: 0 }],
    ["a count that is not finite", { requests: 1e300, errors: 0 }],
    [
      "thousands of bounds",
      {
        ...{ requests: 1, errors: 0 },
        latency: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`${i + 1}`, 1])),
      },
    ],
  ])("are not used with %s", (_, given) => {
    expect(boundCounters(given)).toBeUndefined();
  });
});
