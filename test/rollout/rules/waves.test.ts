import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultWavePercentages } from "#rollout/contract.ts";
import { planWaves } from "#rollout/rules/spread.ts";

describe("planWaves", () => {
  it.each([
    [1, [1]],
    [2, [1, 1]],
    [4, [1, 1, 2]],
    [12, [1, 2, 3, 6]],
    [20, [1, 4, 5, 10]],
    [100, [1, 4, 20, 25, 50]],
    [1000, [10, 40, 200, 250, 500]],
  ])("splits %i sentinels at the default percentages into %j", (total, sizes) => {
    const waves = planWaves(total, defaultWavePercentages);

    expect(waves.map((wave) => wave.size)).toEqual(sizes);
  });

  it("rounds up in whole numbers where floating point would cover one too many", () => {
    const waves = planWaves(25, [28, 100]);

    expect(waves[0]?.size).toBe(7);
  });

  it("plans no wave for an empty fleet", () => {
    expect(planWaves(0, defaultWavePercentages)).toEqual([]);
  });

  it("covers the whole fleet, each wave at least one sentinel", () => {
    const percentages = fc
      .uniqueArray(fc.integer({ min: 1, max: 99 }), { maxLength: 20 })
      .map((list) => [...list.sort((a, b) => a - b), 100]);

    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), percentages, (total, list) => {
        const waves = planWaves(total, list);

        expect(waves.every((wave) => wave.size >= 1)).toBe(true);
        expect(waves.reduce((sum, wave) => sum + wave.size, 0)).toBe(total);
        expect(waves.every(({ covered, percentage }) => covered * 100 >= total * percentage)).toBe(
          true,
        );
      }),
    );
  });
});
