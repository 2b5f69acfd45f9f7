/** The same sentinels before the rollout, in blocks as long as the window: further draws of history mode. Pure. */
import type { Claim, Readings } from "./contract.ts";
import { baseMinutes, claims, type Metric, pastMinutes } from "./defaults.ts";
import { expectCounts, moveCounts, type Sample, takeSample } from "./sample.ts";
import { findReporting, type Range, type Sums, sumRanges } from "./sums.ts";
import { logWeights, sizeOfSpread } from "./weights.ts";

const lengths = [1, 2, 3, 5, 8, 12, 20, 30, 60];
/** Blocks start at least so many minutes apart. */
const leastStep = 6;
const mostCounts = 4_000;

/** The spread of past counts, moved like those of now, and their log weights by the claim's bets; empty without a past. */
export type PastCounts = { size: number; weights: readonly Float64Array[] };

/** Returns the past counts for a window of so many minutes. */
export type ReadPast = (minutes: number, metric: Metric, claim: Claim) => PastCounts;

type Block = { base: Sums; window: Sums; indices: Int32Array };
/** Of one metric. */
type Samples = readonly Sample[];

/** `startIndex`: the minute at which the rollout starts. */
export function createPast(
  sentinels: readonly Readings[],
  { startIndex, stratum, strata }: { startIndex: number; stratum: Int32Array; strata: number },
): ReadPast {
  const blocks = new Map<number, Block[]>();
  const samples = new Map<string, Samples>();
  const counts = new Map<string, PastCounts>();
  return (minutes, metric, claim) => {
    const length = nearestLength(minutes);
    const ofLength = blocks.get(length) ?? readBlocks(sentinels, length, startIndex);
    blocks.set(length, ofLength);
    const ofMetric = `${length} ${metric.name}`;
    const taken =
      samples.get(ofMetric) ??
      ofLength.map((block) => takeSample(metric, { stratum, strata, ...block }, block));
    samples.set(ofMetric, taken);
    const key = `${ofMetric} ${claim}`;
    const found = counts.get(key) ?? weighPast(pickCounts(taken, metric, claim), metric, claim);
    counts.set(key, found);
    return found;
  };
}

function weighPast(
  { count, expected }: { count: Float64Array; expected: Float64Array },
  metric: Metric,
  claim: Claim,
): PastCounts {
  const size = metric.size ?? sizeOfSpread(count, expected);
  return {
    size,
    weights: claims[claim].bets.map((bet) => logWeights({ count, expected, size }, bet)),
  };
}

const nearestLength = (minutes: number) =>
  lengths.reduce((best, one) => (Math.abs(one - minutes) < Math.abs(best - minutes) ? one : best));

function readBlocks(sentinels: readonly Readings[], length: number, startIndex: number): Block[] {
  const all = { from: Math.max(0, startIndex - pastMinutes), to: startIndex };
  const windows: Range[] = [];
  const step = Math.max(length, leastStep);
  for (let from = all.from + baseMinutes; from + length <= all.to; from += step)
    windows.push({ from, to: from + length });
  const bases = windows.map(({ from }) => ({ from: from - baseMinutes, to: from }));
  const sums = sumRanges(sentinels, all, [...windows, ...bases]);
  return windows.map((_, i) => {
    const window = sums[i] as Sums;
    const base = sums[windows.length + i] as Sums;
    const minutes = { base: baseMinutes, window: length };
    return { base, window, indices: findReporting(base, window, minutes) };
  });
}

/** At most 4,000 counts, evenly picked, and what was expected of each. */
function pickCounts(samples: Samples, metric: Metric, claim: Claim) {
  const available = samples.reduce((sum, { count }) => sum + count.length, 0);
  const size = Math.min(available, mostCounts);
  const picked = { count: new Float64Array(size), expected: new Float64Array(size) };
  let next = 0;
  let before = 0;
  for (const sample of samples) {
    const count = moveCounts(sample, { claim, metric });
    const expected = expectCounts(sample, count, metric.tolerate);
    for (; next < size; next += 1) {
      const i = Math.floor(((next + 0.5) * available) / size) - before;
      if (i >= count.length) break;
      picked.count[next] = count[i] as number;
      picked.expected[next] = expected[i] as number;
    }
    before += count.length;
  }
  return picked;
}
