/** The images and states of a fleet, counted and searched, for the page of the fleet. */
import { z } from "zod";
import { healths } from "#fleet/contract.ts";
import { isClean } from "#kernel/text.ts";

/** as_ordered: it runs what it was last ordered to run; differs: it does not, and nothing is in progress. */
export const imageStates = ["as_ordered", "deploying", "failed", "differs"] as const;
export type ImageState = (typeof imageStates)[number];

const maxPageSize = 200;

/** More words are ignored: nobody looks for so much at once. */
export const maxWords = 8;

const text = (what: string, length: number) =>
  z.string().refine((given) => isClean(given, length), `must be ${what}`);

export const FleetSearch = z.strictObject({
  /** Words, each of which has to be in the id or in a label, as `name=value`. */
  search: text("one line of text", 200).default(""),
  region: text("a region", 200).optional(),
  /** The one that it runs. */
  image: text("an image", 512).optional(),
  health: z.enum(healths).optional(),
  state: z.enum(imageStates).optional(),
  page: z.int().min(1).max(100_000).default(1),
  limit: z.int().min(1).max(maxPageSize).default(50),
});
export type FleetSearch = z.infer<typeof FleetSearch>;

/** The number of sentinels with each value, by all other filters. */
const Choices = z.array(z.object({ value: z.string(), count: z.int() }));

const FoundSentinel = z.object({
  id: z.string(),
  region: z.string(),
  image: z.string(),
  running_image: z.string(),
  state: z.enum(imageStates),
  deploy_reason: z.string().nullable(),
  health: z.enum(healths),
  labels: z.record(z.string(), z.string()),
  updated_at: z.string(),
});
export type FoundSentinel = z.infer<typeof FoundSentinel>;

/** All of it is of one moment. Lists of values have the most frequent ones. */
export const FleetOverview = z.object({
  /** Sentinels of the whole fleet. */
  total: z.int(),
  /** Sentinels that the search finds; `sentinels` is one page of them, ordered by id. */
  found: z.int(),
  sentinels: z.array(FoundSentinel),
  choices: z.object({ region: Choices, image: Choices, health: Choices, state: Choices }),
  /** Whole fleet: the number of sentinels by image and region. `image` is null for all but the first few. */
  versions: z.array(z.object({ region: z.string(), image: z.string().nullable(), count: z.int() })),
  /** The number of regions missing in `versions` because there are too many. */
  more_regions: z.int(),
  /** Whole fleet: the ordered images that are not the running ones. */
  differences: z.array(
    z.object({
      ordered: z.string(),
      running: z.string(),
      deploying: z.int(),
      failed: z.int(),
      differs: z.int(),
    }),
  ),
  /** Whole fleet: the number of sentinels by state. */
  states: z.record(z.enum(imageStates), z.int()),
  unhealthy: z.int(),
  /** The fleet's own list: when the one that is shown was asked for, and why a newer one is not. */
  list: z.object({
    asked_at: z.string().nullable(),
    problem: z.string().nullable(),
    problem_at: z.string().nullable(),
  }),
});
export type FleetOverview = z.infer<typeof FleetOverview>;
