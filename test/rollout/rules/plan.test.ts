import { describe, expect, it } from "vitest";
import type { FleetMember } from "#fleet/contract.ts";
import { batchesOf, planRollout, toBatches, toWaveProgress } from "#rollout/rules/plan.ts";
import { buildFleet, imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";

const aMember: FleetMember = {
  id: "a",
  region: "eu",
  image: imageV1,
  running_image: imageV1,
  health: "healthy",
};
const request = { image: imageV2, wavePercentages: [50, 100] };

describe("planRollout", () => {
  it("leaves out sentinels that run the image already", () => {
    const fleet = [...buildFleet({ eu: 2 }), ...buildFleet({ us: 3 }, imageV2)];

    const { waves } = planRollout(fleet, request);

    expect(waves.flatMap(({ members }) => members.map(({ region }) => region))).toEqual([
      "eu",
      "eu",
    ]);
  });

  it("includes a sentinel that is to run the image but does not yet", () => {
    const fleet = [{ ...aMember, image: imageV2 }];

    expect(planRollout(fleet, request).waves).toHaveLength(1);
  });
});

describe("toBatches", () => {
  it("never lets a batch span two waves", () => {
    const { waves } = planRollout(buildFleet({ eu: 600 }), request);

    expect(toBatches(waves).map((batch) => [batch.wave, batch.ids.length])).toEqual([
      [0, 250],
      [0, 50],
      [1, 250],
      [1, 50],
    ]);
  });

  it("agrees with the numbers that the waves keep", () => {
    const { waves } = planRollout(buildFleet({ eu: 600 }), request);

    const numbered = toWaveProgress(waves).flatMap(batchesOf);

    expect(numbered.map(({ size }) => size)).toEqual(toBatches(waves).map(({ ids }) => ids.length));
  });

  it("remembers the image that runs, not the one that was ordered", () => {
    const fleet = [{ ...aMember, image: "r.io/x:never-came-up" }];

    const [batch] = toBatches(planRollout(fleet, request).waves);

    expect(batch?.images).toEqual([imageV1]);
  });
});
