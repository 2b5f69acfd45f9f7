/** The evidence of one look for a claim about one metric: an e-value, whose mean is at most 1 if it is false. Pure. */
import type { Claim } from "./contract.ts";
import { type Bet, claims, greatestEvidence, type Metric } from "./defaults.ts";
import { logMeanProduct } from "./draws.ts";
import type { PastCounts } from "./past.ts";
import { expectCounts, moveCounts, pickAt, type Sample } from "./sample.ts";
import { logWeights, sizeOfSpread } from "./weights.ts";

type Counts = { count: Float64Array; expected: Float64Array; size: number };

/**
 * Returns the evidence, the mean over the claim's bets. With `past` all counts are one pool (history mode), without it
 * the new sentinels are a draw within each stratum (exact mode). 1 if one side has no sentinel.
 */
export function weighEvidence(
  sample: Sample,
  { isNew, groups }: Draw,
  { metric, claim, past }: { metric: Metric; claim: Claim; past?: PastCounts },
): number {
  const count = moveCounts(sample, { claim, metric, isNew });
  const expected = expectCounts(sample, count, metric.tolerate);
  const isPast = past !== undefined && (past.weights[0]?.length ?? 0) > 0;
  const size = metric.size ?? (isPast ? past.size : sizeOfSpread(count, expected));
  const now = { count, expected, size };
  const { bets } = claims[claim];
  const logs =
    past === undefined
      ? weighDraws(now, { bets, groups })
      : weighPool(now, { bets, marks: markPool(isNew, groups), past: past.weights });
  return meanOf(logs);
}

/** The members of a stratum that has both images. */
type Group = { all: Int32Array; isNew: Uint8Array; drawn: number };

/** Which sentinels of a sample are new, and in which strata others could have been. */
export type Draw = { isNew: Uint8Array; groups: readonly Group[] };

export function createDraw(strata: Pick<Sample, "stratum" | "strata">, isNew: Uint8Array): Draw {
  return { isNew, groups: groupByStratum(strata, isNew) };
}

function groupByStratum(
  { stratum, strata }: Pick<Sample, "stratum" | "strata">,
  isNew: Uint8Array,
): Group[] {
  const groups = Array.from({ length: strata }, (): number[] => []);
  for (let i = 0; i < stratum.length; i += 1) groups[stratum[i] as number]?.push(i);
  return groups
    .map((indices) => {
      const marks = Uint8Array.from(indices, (i) => isNew[i] as number);
      const drawn = marks.reduce((sum, mark) => sum + mark, 0);
      return { all: Int32Array.from(indices), isNew: marks, drawn };
    })
    .filter(({ all, drawn }) => drawn > 0 && drawn < all.length);
}

function weighDraws(
  now: Counts,
  { bets, groups }: { bets: readonly Bet[]; groups: readonly Group[] },
): number[] {
  return bets.map((bet) => {
    const weights = logWeights(now, bet);
    let log = 0;
    for (const { all, isNew, drawn } of groups) {
      const own = pickAt(weights, all);
      log += sumOfNew(own, isNew) - logMeanProduct(own, drawn);
    }
    return log;
  });
}

/**
 * Marks who is new (1) and who is old (0) in the pool. A region with the new image only says nothing (2): its trouble
 * and the image's look the same.
 */
function markPool(isNew: Uint8Array, groups: readonly Group[]): Uint8Array {
  const marks = isNew.map((mark) => (mark === 1 ? 2 : 0));
  for (const { all, isNew: drawn } of groups) {
    for (let k = 0; k < all.length; k += 1) if (drawn[k] === 1) marks[all[k] as number] = 1;
  }
  return marks;
}

/** The shorter of the past and the old ones of now is repeated, so that both count the same. */
function weighPool(
  now: Counts,
  { bets, marks, past }: { bets: readonly Bet[]; marks: Uint8Array; past: readonly Float64Array[] },
): number[] {
  const drawn = marks.filter((mark) => mark === 1).length;
  const old = marks.filter((mark) => mark === 0).length;
  const before = past[0]?.length ?? 0;
  if (drawn === 0 || old === 0) return [0];
  const repeat = (size: number, other: number) =>
    size === 0 || other === 0 ? 1 : Math.max(1, Math.round(other / size));
  const times = new Float64Array(before + marks.length);
  times.fill(repeat(before, old), 0, before);
  const timesNow = [repeat(old, before), 1, 0];
  for (let i = 0; i < marks.length; i += 1)
    times[before + i] = timesNow[marks[i] as number] as number;
  return bets.map((bet, b) => {
    const weights = logWeights(now, bet);
    const pool = new Float64Array(times.length);
    pool.set(past[b] ?? []);
    pool.set(weights, before);
    return sumOfNew(weights, marks) - logMeanProduct(pool, drawn, times);
  });
}

function sumOfNew(weights: Float64Array, isNew: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i += 1) if (isNew[i] === 1) sum += weights[i] as number;
  return sum;
}

function meanOf(logs: readonly number[]): number {
  const greatest = Math.max(...logs);
  const sum = logs.reduce((total, log) => total + Math.exp(log - greatest), 0);
  return Math.exp(Math.min(greatestEvidence, greatest + Math.log(sum / logs.length)));
}
