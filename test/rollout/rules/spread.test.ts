import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apportion, spreadOverWaves } from "#rollout/rules/spread.ts";
import { buildFleet } from "../../support/rollout/rollout-builders.ts";

describe("spreadOverWaves", () => {
  it("takes every region in proportion in every wave", () => {
    const fleet = buildFleet({ eu: 60, us: 30, ap: 10 });

    const waves = spreadOverWaves(fleet, [10, 40, 50], "salt");

    const regions = waves.map((wave) => wave.filter(({ region }) => region === "eu").length);
    expect(regions).toEqual([6, 24, 30]);
  });

  it("never fills a wave from one region while another has an equal claim", () => {
    const fleet = buildFleet({ eu: 6, us: 6 });

    const waves = spreadOverWaves(fleet, [2, 4, 6], "salt");

    for (const wave of waves) expect(new Set(wave.map(({ region }) => region)).size).toBe(2);
  });

  it("gives the same order for the same salt, whatever order the fleet is listed in", () => {
    const fleet = buildFleet({ eu: 20, us: 20 });

    const there = spreadOverWaves(fleet, [10, 30], "image:v2");
    const back = spreadOverWaves(fleet.toReversed(), [10, 30], "image:v2");

    expect(back).toEqual(there);
  });

  it("lets others go first with another salt", () => {
    const fleet = buildFleet({ eu: 100 });

    const first = spreadOverWaves(fleet, [1, 99], "image:v2")[0];
    const other = ["image:v3", "image:v4", "image:v5"].map(
      (salt) => spreadOverWaves(fleet, [1, 99], salt)[0],
    );

    expect(other).not.toEqual([first, first, first]);
  });

  it("places every sentinel exactly once", () => {
    const sizes = fc.dictionary(
      fc.constantFrom("eu", "us", "ap", "sa"),
      fc.integer({ min: 1, max: 60 }),
      { minKeys: 1, noNullPrototype: true },
    );

    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 9 }), (regions, cut) => {
        const fleet = buildFleet(regions);
        const first = Math.ceil((fleet.length * cut) / 10);

        const waves = spreadOverWaves(fleet, [first, fleet.length - first], "salt");

        const ids = waves.flat().map(({ id }) => id);
        expect(waves.map((wave) => wave.length)).toEqual([first, fleet.length - first]);
        expect(ids.sort()).toEqual(fleet.map(({ id }) => id).sort());
      }),
    );
  });
});

describe("apportion", () => {
  it("gives the seats that are left to the largest remainders", () => {
    expect(apportion([50, 30, 20], 3)).toEqual([1, 1, 1]);
  });

  it("gives it to the first of those that have equal claims, and to larger claims before", () => {
    expect(apportion([5, 7, 5, 7, 5, 0], 4)).toEqual([1, 1, 1, 1, 0, 0]);
  });

  it("gives no seats when there are no weights", () => {
    expect(apportion([0, 0], 5)).toEqual([0, 0]);
  });

  it("gives the seats that sorting each group by itself would give", () => {
    const weights = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 40 });

    fc.assert(
      fc.property(weights, fc.double({ min: 0, max: 1, noNaN: true }), (sizes, part) => {
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const seats = Math.floor(total * part);

        expect(apportion(sizes, seats)).toEqual(apportionBySorting(sizes, seats));
      }),
    );
  });
});

/** The same rule, each group by itself. */
function apportionBySorting(weights: readonly number[], seats: number): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return weights.map(() => 0);
  const shares = weights.map((weight) => Math.floor((weight * seats) / total));
  const missing = seats - shares.reduce((sum, share) => sum + share, 0);
  const claims = weights
    .map((weight, i) => ({ i, remainder: (weight * seats) % total }))
    .sort((a, b) => b.remainder - a.remainder)
    .slice(0, missing);
  for (const { i } of claims) shares[i] = (shares[i] ?? 0) + 1;
  return shares;
}
