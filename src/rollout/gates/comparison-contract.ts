/** The evidence of a gate that compares two images, as Status and the console show it. */
import { z } from "zod";

const SideCounts = z.object({ count: z.number(), exposure: z.number(), rate: z.number() });

/** The requests, errors and slow requests of a side in some minutes. */
const SidePoint = z.tuple([z.number(), z.number(), z.number()]);

/** The last comparison of two images: its numbers, and both sides over time. */
export const Comparison = z.object({
  verdict: z.enum(["worse", "better", "not_worse", "inconclusive"]),
  may_go_early: z.boolean(),
  /** The new image is worse from this `total` on. */
  threshold: z.number(),
  total: z.number(),
  guard: z.boolean().optional(),
  /** True if the new sentinels were chosen by their labels: then only gross failure counts. */
  is_chosen: z.boolean().optional(),
  mode: z.enum(["exact", "history"]).optional(),
  new_sentinels: z.int().optional(),
  old_sentinels: z.int().optional(),
  metrics: z.array(
    z.object({
      metric: z.enum(["errors", "slow", "restarts"]),
      new: SideCounts,
      old: SideCounts,
      expected: z.number(),
      worse: z.number(),
      not_worse: z.number(),
      better: z.number(),
      proof: z.number(),
    }),
  ),
  /** Since the end of the wave, 60 at most, each of as many minutes. */
  points: z.array(z.object({ at: z.string(), new: SidePoint, old: SidePoint })),
  /** The evidence after each look that changed it. */
  looks: z.array(z.object({ at: z.string(), total: z.number() })),
});
export type Comparison = z.infer<typeof Comparison>;
