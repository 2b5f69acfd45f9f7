import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { waveSizes } from "#cli/rollout/progress.ts";
import { planWaves } from "#rollout/rules/spread.ts";

describe("waveSizes", () => {
  it("returns the waves that the service plans, for every fleet and every list of percentages", () => {
    const percentages = fc
      .uniqueArray(fc.integer({ min: 1, max: 99 }), { maxLength: 20 })
      .map((list) => [...list.sort((a, b) => a - b), 100]);

    fc.assert(
      fc.property(fc.nat(5_000), percentages, (total, list) => {
        const planned = planWaves(total, list).map(({ size, covered }, i) => ({
          wave: i + 1,
          size,
          covered,
        }));

        expect(waveSizes(total, list)).toEqual(planned);
      }),
    );
  });
});
