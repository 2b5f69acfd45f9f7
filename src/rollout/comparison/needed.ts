/** How many new sentinels a doubled error rate is found with. A rough figure for the reason of an answer. Pure. */
import { alpha, claims, metrics } from "./defaults.ts";
import { logChoices } from "./draws.ts";
import { sizeOfSpread } from "./weights.ts";

/** In simulation fewer find a doubled error rate in some of the rollouts only, however many requests they have. */
const least = 20;

/**
 * Returns the number for the planned soak, or null if the fleet has too few sentinels or requests. `count` and `expected`
 * are the errors of the window, of all sentinels; `share` is how much of the planned soak the window covers.
 */
export function estimateNeeded(
  { count, expected }: { count: Float64Array; expected: Float64Array },
  { share, waves }: { share: number; waves: number },
): number | null {
  const sentinels = count.length;
  const size = sizeOfSpread(count, expected);
  const mean = expected.reduce((sum, value) => sum + value, 0) / Math.max(1, sentinels) / share;
  const gain = gainOfDoubling(mean, size);
  const goal = Math.log((claims.worse.bets.length * metrics.length * waves) / alpha);
  if (!(gain > 0)) return null;
  let needed = Math.max(least, Math.ceil(goal / gain));
  while (needed < sentinels && logChoices(sentinels, needed) < goal) needed += 1;
  return needed < sentinels ? needed : null;
}

/** The log weight of a sentinel that counts twice what is expected, by the bet on that. */
function gainOfDoubling(expected: number, size: number): number {
  const limit = claims.worse.bets.find(({ times }) => times === 2)?.limit ?? 0;
  const x = 2 * expected;
  return Math.min(limit, x * Math.log(2) + (x + size) * Math.log((expected + size) / (x + size)));
}
