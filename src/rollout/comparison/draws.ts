/** The mean product of weights over all draws of n of them: elementary symmetric sums. Pure. */

/**
 * Up to so many drawn, or left, the sum is exact: there the saddle point may be too low by 0.15 if as many weights as are
 * drawn are at the cut. 709 / 8, the greatest cut, is the limit of the numbers.
 */
const mostExact = 32;

/**
 * Returns ln P: the log of the mean, over all choices of `n` weights, of their product. `times`: how often each weight is
 * there, in whole numbers, once if absent. 0 for n = 0. Exact if few are drawn or left, else within 0.005 for counts that
 * spread by chance.
 */
export function logMeanProduct(logWeights: Float64Array, n: number, times?: Float64Array): number {
  const size = times === undefined ? logWeights.length : sum(times);
  if (n <= 0) return 0;
  if (n <= mostExact) return recur(logWeights, { n, times, sign: 1 });
  const left = size - n;
  if (left <= mostExact) {
    const all = logWeights.reduce((total, w, i) => total + w * (times?.[i] ?? 1), 0);
    return left <= 0 ? all : all + recur(logWeights, { n: left, times, sign: -1 });
  }
  return logSaddlePoint(logWeights, n, times) - logSaddleOfOnes(size, n);
}

/** Means over draws from the first m weights, for 0 to n drawn; `sign` -1 takes the weights' inverses. */
function recur(
  logWeights: Float64Array,
  { n, times, sign }: { n: number; times: Float64Array | undefined; sign: 1 | -1 },
): number {
  const means = new Float64Array(n + 1);
  means[0] = 1;
  let m = 0;
  for (let i = 0; i < logWeights.length; i += 1) {
    const weight = Math.exp(sign * (logWeights[i] as number));
    const often = times === undefined ? 1 : (times[i] as number);
    for (let j = 0; j < often; j += 1) {
      m += 1;
      for (let k = Math.min(n, m); k > 0; k -= 1) {
        const share = k / m;
        means[k] = (1 - share) * (means[k] as number) + share * weight * (means[k - 1] as number);
      }
    }
  }
  return Math.log(means[n] as number);
}

/** The saddle point approximation of ln e_n, but for a constant that depends on nothing. */
function logSaddlePoint(logWeights: Float64Array, n: number, times?: Float64Array): number {
  const weights = logWeights.map(Math.exp);
  const logU = solve(weights, n, times);
  const u = Math.exp(logU);
  let logs = 0;
  let variance = 0;
  for (let i = 0; i < weights.length; i += 1) {
    const odds = (weights[i] as number) * u;
    const often = times === undefined ? 1 : (times[i] as number);
    logs += often * Math.log1p(odds);
    variance += (often * odds) / ((1 + odds) * (1 + odds));
  }
  return logs - n * logU - Math.log(variance) / 2;
}

/** The same of `size` weights of 1. */
function logSaddleOfOnes(size: number, n: number): number {
  const share = n / size;
  const logs = -size * Math.log1p(-share) - n * Math.log(share / (1 - share));
  return logs - Math.log(size * share * (1 - share)) / 2;
}

/** Finds ln u at which the expected number drawn, Σ w·u/(1 + w·u), is n: Newton's steps between bounds that close. */
function solve(weights: Float64Array, n: number, times?: Float64Array): number {
  const size = times === undefined ? weights.length : sum(times);
  let [low, high] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  let logU = Math.log(n / (size - n));
  for (let step = 0; step < 100; step += 1) {
    const { drawn, slope } = drawnAt(Math.exp(logU), weights, times);
    if (Math.abs(drawn - n) < 1e-9 * n) break;
    if (drawn > n) high = logU;
    else low = logU;
    const next = logU + Math.max(-2, Math.min(2, (n - drawn) / slope));
    logU = next > low && next < high ? next : (low + high) / 2;
  }
  return logU;
}

function drawnAt(u: number, weights: Float64Array, times?: Float64Array) {
  let drawn = 0;
  let slope = 0;
  for (let i = 0; i < weights.length; i += 1) {
    const share = 1 - 1 / (1 + (weights[i] as number) * u);
    const often = times === undefined ? 1 : (times[i] as number);
    drawn += often * share;
    slope += often * share * (1 - share);
  }
  return { drawn, slope };
}

/** ln of the number of choices of n among `size`. */
export function logChoices(size: number, n: number): number {
  const drawn = Math.min(n, size - n);
  let logs = 0;
  for (let k = 1; k <= drawn; k += 1) logs += Math.log((size - drawn + k) / k);
  return logs;
}

function sum(values: Float64Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i += 1) total += values[i] as number;
  return total;
}
