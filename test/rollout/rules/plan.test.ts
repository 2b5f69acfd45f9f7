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
const digest = (letter: string) => `@sha256:${letter.repeat(64)}`;
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

  it("leaves out a sentinel whose fleet knows the image by its digest alone", () => {
    const listed = `${imageV2.replace(/:v2$/, "")}${digest("a")}`;
    const fleet = [{ ...aMember, image: listed, running_image: listed }];

    const { waves } = planRollout(fleet, { ...request, image: `${imageV2}${digest("a")}` });

    expect(waves).toEqual([]);
  });

  it.each([
    ["by its tag alone", imageV2],
    ["with the digest that its tag had before", `${imageV2}${digest("b")}`],
  ])("includes a sentinel that runs the image %s", (_, listed) => {
    const fleet = [{ ...aMember, image: listed, running_image: listed }];

    const { waves } = planRollout(fleet, { ...request, image: `${imageV2}${digest("a")}` });

    expect(waves).toHaveLength(1);
  });

  it("includes a sentinel that is to run the image but does not yet", () => {
    const fleet = [{ ...aMember, image: imageV2 }];

    expect(planRollout(fleet, request).waves).toHaveLength(1);
  });

  it("refuses a bound per region that would make more than 500 waves", () => {
    const plan = (size: number) =>
      planRollout(buildFleet({ eu: size }), {
        image: imageV2,
        wavePercentages: [100],
        policy: { max_per_region: 1 },
      });

    expect(plan(500).waves).toHaveLength(500);
    expect(() => plan(501)).toThrow(
      expect.objectContaining({
        status: 400,
        code: "too_many_waves",
        message: expect.stringContaining("there are 501 waves, 500 at most"),
      }),
    );
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

    expect(numbered.map(({ batch }) => batch)).toEqual([0, 1, 2, 3]);
    expect(numbered.map(({ size }) => size)).toEqual(toBatches(waves).map(({ ids }) => ids.length));
  });

  it("remembers an image that runs by the name by which it was ordered", () => {
    const ordered = `${imageV1}${digest("a")}`;
    const running_image = `docker-pullable://mirror.example.com/sentinel${digest("a")}`;
    const { waves } = planRollout([{ ...aMember, image: ordered, running_image }], request);

    const [batch] = toBatches(waves);

    expect(batch?.images).toEqual([ordered]);
  });

  it("remembers the digest of an image that its fleet calls by its tag alone", () => {
    const ordered = `${imageV1}${digest("a")}`;
    const { waves } = planRollout([{ ...aMember, image: ordered }], request);

    const [batch] = toBatches(waves);

    expect(batch?.images).toEqual([ordered]);
  });

  it("remembers the digest of an image that was ordered by its tag alone", () => {
    const running_image = `${imageV1}${digest("a")}`;
    const { waves } = planRollout([{ ...aMember, running_image }], request);

    const [batch] = toBatches(waves);

    expect(batch?.images).toEqual([running_image]);
  });

  it("remembers the image that runs, not the one that was ordered", () => {
    const fleet = [{ ...aMember, image: "r.io/x:never-came-up" }];

    const [batch] = toBatches(planRollout(fleet, request).waves);

    expect(batch?.images).toEqual([imageV1]);
  });
});
