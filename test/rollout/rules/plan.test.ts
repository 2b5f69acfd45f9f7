import { describe, expect, it } from "vitest";
import {
  batchesOf,
  describePlan,
  planMembers,
  toBatches,
  toWaveProgress,
} from "#rollout/rules/plan.ts";
import { buildFleet, imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";

const request = { image: imageV2, wavePercentages: [50, 100] };

describe("planMembers", () => {
  it("leaves out sentinels that run the image already", () => {
    const fleet = [...buildFleet({ eu: 2 }), ...buildFleet({ us: 3 }, imageV2)];

    const waves = planMembers(fleet, request);

    expect(waves.flatMap(({ members }) => members.map(({ region }) => region))).toEqual([
      "eu",
      "eu",
    ]);
  });

  it("includes a sentinel that is to run the image but does not yet", () => {
    const fleet = [{ id: "a", region: "eu", image: imageV2, running_image: imageV1 }];

    expect(planMembers(fleet, request)).toHaveLength(1);
  });
});

describe("toBatches", () => {
  it("never lets a batch span two waves", () => {
    const waves = planMembers(buildFleet({ eu: 600 }), request);

    expect(toBatches(waves).map((batch) => [batch.wave, batch.ids.length])).toEqual([
      [0, 250],
      [0, 50],
      [1, 250],
      [1, 50],
    ]);
  });

  it("agrees with the numbers that the waves keep", () => {
    const waves = planMembers(buildFleet({ eu: 600 }), request);

    const numbered = toWaveProgress(waves).flatMap(batchesOf);

    expect(numbered.map(({ size }) => size)).toEqual(toBatches(waves).map(({ ids }) => ids.length));
  });

  it("remembers the image that runs, not the one that was ordered", () => {
    const fleet = [
      { id: "a", region: "eu", image: "r.io/x:never-came-up", running_image: imageV1 },
    ];

    const [batch] = toBatches(planMembers(fleet, request));

    expect(batch?.images).toEqual([imageV1]);
  });
});

describe("describePlan", () => {
  it("shows sizes, coverage and regions of each wave", () => {
    const fleet = [...buildFleet({ eu: 2, us: 2 }), ...buildFleet({ ap: 1 }, imageV2)];

    const plan = describePlan(imageV2, fleet.length, planMembers(fleet, request));

    expect(plan).toMatchObject({ total: 4, already_running: 1 });
    expect(plan.waves.map(({ size, covered, regions }) => ({ size, covered, regions }))).toEqual([
      { size: 2, covered: 2, regions: { eu: 1, us: 1 } },
      { size: 2, covered: 4, regions: { eu: 1, us: 1 } },
    ]);
  });
});
