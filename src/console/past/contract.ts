/** A rollout's past, for whoever looks at it moment by moment. */
import { z } from "zod";

/** As the grid has them: w waits, p deploying, s new image, f failed, r reverted, n not reverted, l left out. */
const pastMarks = ["w", "p", "s", "f", "r", "n", "l"] as const;
export type PastMark = (typeof pastMarks)[number];

/**
 * What changed from moment to moment. Moments are equally far from each other, so that ten thousand sentinels, each
 * with several changes, are fewer than 200 kB.
 */
export const RolloutPast = z.object({
  /** Moment 0. */
  from: z.string(),
  step_ms: z.int(),
  /** The last moment. */
  last: z.int(),
  /** The marks at moment 0, as run lengths: a mark and how many have it. In the order of the fleet's `ids`. */
  initial: z.array(z.tuple([z.enum(pastMarks), z.int()])),
  /**
   * How many moments after the entry before, the new mark, and whose: each index as the distance from the one
   * before, the first one from -1.
   */
  changes: z.array(z.tuple([z.int(), z.enum(pastMarks), z.array(z.int())])),
  /** Of how many sentinels earlier changes are not known. */
  lost: z.int(),
});
export type RolloutPast = z.infer<typeof RolloutPast>;
