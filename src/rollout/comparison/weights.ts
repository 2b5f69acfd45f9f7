/** How suspicious each count looks beside what was expected: the log weight of a bet. Blind to images. Pure. */
import type { Bet } from "./defaults.ts";

/**
 * The size k of a negative binomial distribution that spreads like the counts around what was expected: 0.25 (bursts)
 * to 50 (nearly Poisson). A count far out is cut, so that one burst does not decide.
 */
export function sizeOfSpread(count: Float64Array, expected: Float64Array): number {
  let above = 0;
  let squares = 0;
  for (let i = 0; i < count.length; i += 1) {
    const e = expected[i] as number;
    const off = (count[i] as number) - e;
    const cut = 16 * (e + (e * e) / 2) + 4;
    above += (Math.min(off * off, cut) - e) / (1 + e);
    squares += (e * e) / (1 + e);
  }
  const inverse = squares > 0 ? above / squares : 0;
  return 1 / Math.max(0.02, Math.min(4, inverse));
}

/**
 * Log likelihood ratio of the bet, cut: above 0 for a count that is more like `times` the expected one than like it.
 * 0 where nothing was expected and nothing counted.
 */
export function logWeights(
  { count, expected, size }: { count: Float64Array; expected: Float64Array; size: number },
  { times, limit }: Bet,
): Float64Array {
  const logTimes = Math.log(times);
  const weights = new Float64Array(count.length);
  for (let i = 0; i < count.length; i += 1) {
    const x = count[i] as number;
    const e = expected[i] as number;
    const log = x * logTimes + (x + size) * Math.log((e + size) / (times * e + size));
    weights[i] = Math.max(-limit, Math.min(limit, log));
  }
  return weights;
}
