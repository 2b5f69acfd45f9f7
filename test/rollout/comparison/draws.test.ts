import { expect, it } from "vitest";
import { logChoices, logMeanProduct } from "#rollout/comparison/draws.ts";

/** All choices of n indices below m. */
function choose(m: number, n: number, from = 0): number[][] {
  if (n === 0) return [[]];
  const rest = [];
  for (let i = from; i <= m - n; i += 1)
    rest.push(...choose(m, n - 1, i + 1).map((more) => [i, ...more]));
  return rest;
}

function bruteForce(weights: readonly number[], n: number): number {
  const draws = choose(weights.length, n);
  const products = draws.map((draw) => draw.reduce((log, i) => log + (weights[i] ?? 0), 0));
  return Math.log(products.reduce((sum, log) => sum + Math.exp(log), 0) / draws.length);
}

const weights = Array.from({ length: 14 }, (_, i) => Math.sin(i * 7.1) * (i % 5 === 0 ? 6 : 2));

it.each([0, 1, 3, 6, 8, 11, 13, 14])("few drawn, or left, have the exact mean: %i of 14", (n) => {
  const mean = logMeanProduct(Float64Array.from(weights), n);

  expect(mean).toBeCloseTo(bruteForce(weights, n), 10);
});

it("eight drawn of a region with eight weights at the cut have the exact mean", () => {
  const burst = Array.from({ length: 18 }, (_, i) => (i < 8 ? 8 : -0.3 * (i % 3)));

  const mean = logMeanProduct(Float64Array.from(burst), 8);

  expect(mean).toBeCloseTo(bruteForce(burst, 8), 10);
});

it("the saddle point of a large pool agrees with the recursion at their border", () => {
  const pool = Float64Array.from({ length: 400 }, (_, i) => Math.sin(i * 3.7) * 3);
  const steps = [30, 31, 32, 33].map((n) => logMeanProduct(pool, n + 1) - logMeanProduct(pool, n));

  expect(steps[2]).toBeCloseTo(((steps[1] as number) + (steps[3] as number)) / 2, 2);
});

it("thirty-two drawn at the cut, or left, stay finite and exact", () => {
  const pool = new Float64Array(64).fill(8);

  expect(logMeanProduct(pool, 32)).toBeCloseTo(256, 8);
  expect(
    logMeanProduct(
      pool.map((w) => -w),
      32,
    ),
  ).toBeCloseTo(-256, 8);
});

it.each([3, 9])("a weight that is there three times counts like three of it: %i drawn", (n) => {
  const distinct = [0.5, -1, 2, 0];
  const three = new Float64Array(4).fill(3);
  const written = Float64Array.from(distinct.flatMap((w) => [w, w, w]));

  const mean = logMeanProduct(Float64Array.from(distinct), n, three);

  expect(mean).toBeCloseTo(logMeanProduct(written, n), 10);
});

it("a hundred thousand weights at the cut stay finite", () => {
  const pool = Float64Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? 8 : -8));

  expect(Number.isFinite(logMeanProduct(pool, 50_000))).toBe(true);
});

it("the number of choices is that of Pascal's triangle", () => {
  expect(Math.exp(logChoices(10, 3))).toBeCloseTo(120, 8);
  expect(Math.exp(logChoices(10, 7))).toBeCloseTo(120, 8);
  expect(logChoices(10, 0)).toBe(0);
});
