/** Which change explains an alert, by time, place and kind. */
import { describe, expect, it } from "vitest";
import type { BlamedAlert, Change, Reach } from "#blame/contract.ts";
import { rank } from "#blame/rank.ts";

const failedAtMs = 1_000_000_000;
const minuteMs = 60_000;

const alertOf = (given: Partial<BlamedAlert["place"]> = {}): BlamedAlert => ({
  goodAtMs: failedAtMs - minuteMs,
  failedAtMs,
  place: { names: ["gateway-eu-west"], check: ["gateway-eu-west"], key: [], part: [], ...given },
});

const sizes = { "singleton/eu-west": 5, "singleton/us-east": 5 };
const waveOf = (touched: Reach["touched"]): Reach => ({ of: "region", touched, sizes, total: 10 });
const inEu = waveOf({ "singleton/eu-west": 4 });
const inUs = waveOf({ "singleton/us-east": 4 });

const changeOf = (id: string, agoMs: number, given: Partial<Change> = {}): Change => ({
  id,
  kind: "rollout",
  atMs: failedAtMs - agoMs,
  who: null,
  summary: `${id} changed`,
  reach: inEu,
  ...given,
});

const idsOf = (alert: BlamedAlert, changes: Change[]) => rank(alert, changes).map(({ id }) => id);

describe("by time", () => {
  it("a change after the first failed run is no cause", () => {
    expect(idsOf(alertOf(), [changeOf("later", -1)])).toEqual([]);
    expect(idsOf(alertOf(), [changeOf("before", 1_000)])).toEqual(["before"]);
  });

  it("of two alike, the one before which the check was last good comes first", () => {
    const changes = [changeOf("old", 6 * minuteMs), changeOf("new", 90_000)];

    expect(idsOf(alertOf(), changes)[0]).toBe("new");
  });

  it("a change of yesterday after which the check was good all day is not named", () => {
    expect(idsOf(alertOf(), [changeOf("yesterday", 20 * 60 * minuteMs)])).toEqual([]);
  });

  it("a wave that lasts counts from its last deploy before the fault", () => {
    const lasting = changeOf("lasting", 30 * minuteMs, { untilMs: failedAtMs + 5_000 });

    const [first] = rank(alertOf(), [lasting]);

    expect(first?.id).toBe("lasting");
    expect(first?.text).toContain(
      "lasting changed from 30 min before the first failure, and had not ended",
    );
  });
});

describe("by place", () => {
  it("a wave of the alert's region comes before a later one of another region", () => {
    const changes = [
      changeOf("eu", 2 * minuteMs, { reach: inEu }),
      changeOf("us", 10_000, { reach: inUs }),
    ];

    expect(idsOf(alertOf(), changes)).toEqual(["eu"]);
  });

  it("a wave of that region alone comes before one of everywhere at the same time", () => {
    const everywhere = waveOf({ "singleton/eu-west": 4, "singleton/us-east": 4 });
    const changes = [
      changeOf("everywhere", 80_000, { reach: everywhere }),
      changeOf("eu", 80_000, { reach: inEu }),
    ];

    expect(idsOf(alertOf(), changes)).toEqual(["eu", "everywhere"]);
  });

  it("without a known region the times alone decide between waves, and the text says so", () => {
    const changes = [
      changeOf("eu", 5 * minuteMs, { reach: inEu }),
      changeOf("us", 70_000, { reach: inUs }),
    ];

    const [first] = rank(alertOf({ names: ["checkout"] }), changes);

    expect(first?.id).toBe("us");
    expect(first?.text).toContain("where the failure is, is not known");
  });

  it("a region is named as a whole word, and the longer of two names hides the shorter", () => {
    const reach = {
      of: "region",
      touched: { "singleton/eu": 5 },
      sizes: { "singleton/eu": 5, "singleton/eu-west": 5 },
      total: 10,
    } as const;
    const eu = changeOf("eu", 10_000, { reach });

    expect(idsOf(alertOf({ names: ["gateway-eu-west"] }), [eu])).toEqual([]);
    expect(idsOf(alertOf({ names: ["gateway.eu.example.com"] }), [eu])).toEqual(["eu"]);
  });

  it("a fleet of the same regions is another place", () => {
    const reach = {
      ...inEu,
      touched: { "staging/eu-west": 4 },
      sizes: { "staging/eu-west": 5, ...sizes },
    };
    const staging = changeOf("staging", 10_000, { reach });

    expect(idsOf(alertOf({ fleet: "singleton" }), [staging])).toEqual([]);
    expect(idsOf(alertOf({ fleet: "staging" }), [staging])).toEqual(["staging"]);
  });
});

describe("by kind", () => {
  const ofCheck = (id: string): Reach => ({ of: "check", touched: { [id]: 1 }, total: 50 });

  it("definitions count for a check whose row they changed, and for no other", () => {
    const change = changeOf("apply", 20_000, {
      kind: "definitions",
      reach: ofCheck("gateway-eu-west"),
    });

    expect(rank(alertOf(), [change])[0]?.text).toBe(
      "apply changed 20 s before the first failure; it changed this check",
    );
    expect(idsOf(alertOf({ check: ["other"] }), [change])).toEqual([]);
  });

  it("a wave of the region stays first beside later changes of keys, routes and other checks", () => {
    const keys = { of: "key", touched: { others: 1 }, total: 100 } as const;
    const routes = { of: "delivery", touched: { routes: 1 }, total: 1 } as const;
    const changes = [
      changeOf("wave", 90_000),
      changeOf("apply", 20_000, { kind: "definitions", reach: ofCheck("other") }),
      changeOf("keys", 15_000, { kind: "keys", reach: keys }),
      changeOf("routes", 5_000, { kind: "routes", reach: routes }),
    ];

    expect(idsOf(alertOf({ delivery: [] }), changes)).toEqual(["wave"]);
  });
});

it("scores are probabilities: they add up to less than one, and two alike share", () => {
  const found = rank(alertOf(), [changeOf("a", 70_000), changeOf("b", 70_000)]);

  expect(found.map(({ score }) => score)).toEqual([0.5, 0.5]);
});

it("three are named at most, the likeliest first", () => {
  const changes = [5, 2, 4, 3, 1].map((minutes) => changeOf(`${minutes}`, minutes * minuteMs + 1));

  expect(idsOf(alertOf(), changes)).toEqual(["1", "2", "3"]);
});

it("without a change nothing is named", () => {
  expect(rank(alertOf(), [])).toEqual([]);
});
