/** One metric of the sentinels that reported, and what the others make expect of each. Blind to images. Pure. */

import type { Claim } from "./contract.ts";
import { claims, type Metric } from "./defaults.ts";
import { type Sums, seriesOf } from "./sums.ts";

/** Counts that a sentinel's own level is drawn towards its region's with. */
const ownCounts = 2;
/** Counts that a region's rate is drawn towards the fleet's with. */
const regionCounts = 10;

/** All arrays have an entry for each sentinel that reported. */
export type Sample = {
  stratum: Int32Array;
  strata: number;
  count: Float64Array;
  exposure: Float64Array;
  /** The exposure, times how much more the sentinel counts than its region in the base hour. */
  level: Float64Array;
};

/** The strata of all sentinels, and the indices of those that reported. */
export type Members = { stratum: Int32Array; strata: number; indices: Int32Array };

export function takeSample(
  metric: Metric,
  { stratum, strata, indices }: Members,
  { base, window }: { base: Sums; window: Sums },
): Sample {
  const pick = (values: Float64Array) => pickAt(values, indices);
  const own = pickStrata(stratum, indices);
  const { count, exposure } = seriesOf(metric, window);
  const before = seriesOf(metric, base);
  const sample = { stratum: own, strata, count: pick(count), exposure: pick(exposure) };
  const baseCount = pick(before.count);
  const baseExposure = pick(before.exposure);
  const counts = sumByStratum(baseCount, sample);
  const exposures = sumByStratum(baseExposure, sample);
  const level = sample.exposure.map((n, i) => {
    const r = own[i] as number;
    const rate =
      (exposures[r] as number) > 0 ? (counts[r] as number) / (exposures[r] as number) : 0;
    const expected = (baseExposure[i] as number) * rate;
    return (n * ((baseCount[i] as number) + ownCounts)) / (expected + ownCounts);
  });
  return { ...sample, level };
}

export function pickAt(values: Float64Array, indices: Int32Array): Float64Array {
  const picked = new Float64Array(indices.length);
  for (let i = 0; i < indices.length; i += 1) picked[i] = values[indices[i] as number] as number;
  return picked;
}

function pickStrata(stratum: Int32Array, indices: Int32Array): Int32Array {
  const picked = new Int32Array(indices.length);
  for (let i = 0; i < indices.length; i += 1) picked[i] = stratum[indices[i] as number] as number;
  return picked;
}

/** Moves the claim's boundary. `isNew` says of whom each count is; absent: all are of the old image. */
export function moveCounts(
  { count, exposure }: Sample,
  { claim, metric, isNew }: { claim: Claim; metric: Metric; isNew?: Uint8Array },
): Float64Array {
  const { moved, factor, add } = claims[claim];
  const mark = moved === "new" ? 1 : 0;
  return count.map((x, i) => {
    if ((isNew === undefined ? 0 : isNew[i]) !== mark) return x;
    return Math.max(factor * x, x + (exposure[i] as number) * metric[add]);
  });
}

/** The count expected of each sentinel from its own level and the others, most of all those of its stratum. */
export function expectCounts(
  { stratum, strata, exposure, level }: Sample,
  count: Float64Array,
  least: number,
): Float64Array {
  const counts = sumByStratum(count, { stratum, strata });
  const levels = sumByStratum(level, { stratum, strata });
  const allCounts = counts.reduce((a, b) => a + b, 0);
  const allLevels = levels.reduce((a, b) => a + b, 0);
  return level.map((own, i) => {
    const r = stratum[i] as number;
    const x = count[i] as number;
    const levelOfOthers = without(allLevels, own);
    const rate = levelOfOthers > 0 ? without(allCounts, x) / levelOfOthers : 0;
    const near = rateNear(without(counts[r] as number, x), without(levels[r] as number, own), rate);
    return Math.max(own * near, (exposure[i] as number) * least);
  });
}

/** A region's rate, drawn towards the fleet's. */
function rateNear(counts: number, levels: number, rate: number): number {
  return rate > 0 ? (counts + regionCounts) / (levels + regionCounts / rate) : 0;
}

/** Predicts from the old side alone the count of each new sentinel; 0 for the old ones, and without an old side. */
export function predictCounts(
  { stratum, strata, count, level }: Sample,
  isNew: Uint8Array,
  leastRate: number,
): Float64Array {
  const old = (values: Float64Array) => values.map((value, i) => (isNew[i] === 1 ? 0 : value));
  const counts = sumByStratum(old(count), { stratum, strata });
  const levels = sumByStratum(old(level), { stratum, strata });
  const allLevels = levels.reduce((a, b) => a + b, 0);
  const allCounts = counts.reduce((a, b) => a + b, 0);
  const rate = allLevels > 0 ? Math.max(allCounts / allLevels, leastRate) : 0;
  return level.map((own, i) => {
    if (isNew[i] !== 1) return 0;
    const r = stratum[i] as number;
    return own * rateNear(counts[r] as number, levels[r] as number, rate);
  });
}

/** A total without one part of it; what is left of rounding is nothing. */
function without(total: number, part: number): number {
  const left = total - part;
  return left > 1e-9 * total ? left : 0;
}

function sumByStratum(
  values: Float64Array,
  { stratum, strata }: Pick<Sample, "stratum" | "strata">,
): Float64Array {
  const sums = new Float64Array(strata);
  for (let i = 0; i < values.length; i += 1) {
    const r = stratum[i] as number;
    sums[r] = (sums[r] as number) + (values[i] as number);
  }
  return sums;
}
