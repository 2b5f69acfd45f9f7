import { describe, expect, it } from "vitest";
import type { Claim } from "#rollout/comparison/contract.ts";
import { claimNames, claims, type Metric, metrics } from "#rollout/comparison/defaults.ts";
import { createDraw, weighEvidence } from "#rollout/comparison/evidence.ts";
import { expectCounts, moveCounts, type Sample } from "#rollout/comparison/sample.ts";
import { logWeights, sizeOfSpread } from "#rollout/comparison/weights.ts";

const errors = metrics[0] as Metric;

const regions = { stratum: Int32Array.of(0, 0, 0, 0, 1, 1, 1, 1), strata: 2 };

/** Two regions of four, one of which has a sentinel in trouble. */
const counts = [3, 4, 60, 5, 0, 2, 1, 3];

function sampleOf(count: readonly number[]): Sample {
  const exposure = Float64Array.from(count, () => 1_000);
  return {
    ...regions,
    count: Float64Array.from(count),
    exposure,
    level: exposure.slice(),
  };
}

/** The counts of an image exactly at the claim's boundary: new ones move as far as the old, so that no draw matters. */
function atBoundary(claim: Claim, isNew: Uint8Array): Sample {
  const sample = sampleOf(counts);
  const mark = claims[claim].moved === "new" ? 1 : 0;
  const all = new Uint8Array(counts.length).fill(mark);
  const moved = moveCounts(sample, { claim, metric: errors, isNew: all });
  // The claim itself moves the others.
  const count = moved.map((x, i) => (isNew[i] === mark ? (counts[i] as number) : x));
  return { ...sample, count };
}

const draws = [0, 1, 2, 3].flatMap((a) => [4, 5, 6, 7].map((b) => [a, b]));

describe.each(claimNames)("evidence for %s", (claim) => {
  it("has mean 1 over all draws, if the image is at the boundary", () => {
    const found = draws.map((drawn) => {
      const isNew = Uint8Array.from(counts, (_, i) => (drawn.includes(i) ? 1 : 0));
      return weighEvidence(atBoundary(claim, isNew), createDraw(regions, isNew), {
        metric: errors,
        claim,
      });
    });

    const mean = found.reduce((sum, value) => sum + value, 0) / draws.length;

    expect(new Set(found.map((value) => value.toFixed(6))).size).toBeGreaterThan(4);
    expect(mean).toBeCloseTo(1, 10);
  });
});

it("regions with one image say nothing", () => {
  const isNew = Uint8Array.from([1, 1, 1, 1, 0, 0, 0, 0]);

  expect(
    weighEvidence(sampleOf(counts), createDraw(regions, isNew), { metric: errors, claim: "worse" }),
  ).toBe(1);
});

it("a region with the new image only says nothing in history mode either", () => {
  const isNew = Uint8Array.from([1, 1, 1, 1, 0, 0, 0, 0]);
  const past = { size: 10, weights: claims.worse.bets.map(() => new Float64Array(1_000)) };

  const found = weighEvidence(sampleOf(counts), createDraw(regions, isNew), {
    metric: errors,
    claim: "worse",
    past,
  });

  expect(found).toBe(1);
});

it("a past that looks like now leaves a sentinel in trouble as suspicious as it is rare", () => {
  const isNew = Uint8Array.from([0, 0, 1, 0, 0, 0, 0, 0]);
  const weights = claims.worse.bets.map(() => new Float64Array(1_000));
  const past = { size: 10, weights };

  const inTrouble = weighEvidence(sampleOf(counts), createDraw(regions, isNew), {
    metric: errors,
    claim: "worse",
    past,
  });
  const well = Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0]);
  const healthy = weighEvidence(sampleOf(counts), createDraw(regions, well), {
    metric: errors,
    claim: "worse",
    past,
  });

  expect(inTrouble).toBeGreaterThan(2);
  expect(healthy).toBeLessThan(1);
});

it("moves the old side's counts by the factor, and small ones by a rate of the exposure", () => {
  const isNew = Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0]);

  const moved = moveCounts(sampleOf(counts), { claim: "worse", metric: errors, isNew });
  const none = moveCounts(sampleOf(counts), { claim: "notWorse", metric: errors, isNew });

  expect(moved[0]).toBe(3);
  expect(moved[2]).toBeCloseTo(66, 10);
  expect(moved[4]).toBeCloseTo(0.1, 10);
  expect(none[4]).toBe(1);
});

it("moves the new side's counts for better", () => {
  const isNew = Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0]);

  const moved = moveCounts(sampleOf(counts), { claim: "better", metric: errors, isNew });

  expect([...moved]).toEqual([3.3000000000000003, ...counts.slice(1)]);
});

it("expects the rate of the others, most of all those of the region", () => {
  const sample = sampleOf([10, 10, 10, 10, 0, 0, 0, 0]);

  const expected = expectCounts(sample, sample.count, 0.0001);

  expect(expected[0]).toBeGreaterThan(6);
  expect(expected[4]).toBeLessThan(5);
  expect(expected[0]).toBe(expected[1]);
});

it("expects the least rate where nothing was counted", () => {
  const sample = sampleOf([0, 0, 0, 0, 0, 0, 0, 0]);

  expect([...expectCounts(sample, sample.count, 0.0001)]).toEqual(counts.map(() => 0.1));
});

it("counts that spread like chance have a large size, and bursts a small one", () => {
  const expected = new Float64Array(100).fill(10);
  const even = Float64Array.from({ length: 100 }, (_, i) => 10 + (i % 2 === 0 ? 3 : -3));
  const bursts = Float64Array.from({ length: 100 }, (_, i) => (i % 10 === 0 ? 100 : 0));

  expect(sizeOfSpread(even, expected)).toBe(50);
  expect(sizeOfSpread(bursts, expected)).toBeLessThan(1);
});

it("a bet weighs a count by its likelihood ratio, cut at the limit", () => {
  const series = {
    count: Float64Array.of(0, 10, 1_000),
    expected: Float64Array.of(5, 5, 5),
    size: 10,
  };

  const weights = logWeights(series, { times: 2, limit: 3 });

  expect(weights[0]).toBeCloseTo(10 * Math.log(15 / 20), 10);
  expect(weights[1]).toBeCloseTo(10 * Math.log(2) + 20 * Math.log(15 / 20), 10);
  expect(weights[2]).toBe(3);
});
