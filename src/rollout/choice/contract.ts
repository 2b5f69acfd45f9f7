import { z } from "zod";
import { FleetName, fleetOrNone, LabelName, LabelValue, maxSentinelId } from "#fleet/contract.ts";
import { isClean } from "#kernel/text.ts";
import { instant, Limit, Reason, RowId } from "#rollout/values-contract.ts";

const clean = (max: number) =>
  z
    .string()
    .min(1)
    .refine((text) => isClean(text, max), {
      error: `must be one line of text, ${max} characters at most`,
    });
const Region = clean(200);
const SentinelId = clean(maxSentinelId);

const isDistinct = (list: readonly string[]) => new Set(list).size === list.length;
const distinctly = { error: "must name each once" };

const mostLabels = 10;

/** Returns as many labels as show that there are too many: each fault of 70,000 would be described. */
const fewOf = (labels: unknown) =>
  typeof labels === "object" && labels !== null && !Array.isArray(labels)
    ? Object.fromEntries(Object.entries(labels).slice(0, mostLabels + 1))
    : labels;

export const LabelSelector = z
  .preprocess(
    fewOf,
    z
      .record(LabelName, LabelValue)
      .refine((labels) => Object.keys(labels).length > 0, { error: "must have at least one label" })
      .refine((labels) => Object.keys(labels).length <= mostLabels, {
        error: `must have ${mostLabels} labels at most`,
      }),
  )
  .meta({
    title: "Label selector",
    description: "Sentinels that have each of these labels.",
    examples: [{ tier: "canary" }],
  });
export type LabelSelector = z.infer<typeof LabelSelector>;

/** They are part of the rollout's state, which is written with each result: for more there are labels. */
const selectorFields = {
  ids: z.array(SentinelId).min(1).max(100).refine(isDistinct, distinctly).optional(),
  regions: z.array(Region).min(1).max(100).refine(isDistinct, distinctly).optional(),
  labels: LabelSelector.optional(),
};

/** Sentinels that match each of the fields it has. */
export type Selector = z.infer<z.ZodObject<typeof selectorFields>>;

function selectsSomething({ ids, regions, labels }: Selector): boolean {
  return ids !== undefined || regions !== undefined || labels !== undefined;
}

const aboutSelector = { error: "must have ids, regions or labels", path: ["ids"] };

const Exclusion = z
  .strictObject({ ...selectorFields, reason: Reason.optional() })
  .refine(selectsSomething, aboutSelector);

const Only = z.strictObject(selectorFields).refine(selectsSomething, aboutSelector);

export const RegionOrder = z.array(Region).min(1).max(100).refine(isDistinct, distinctly);

export const choiceFields = {
  exclude: z
    .array(Exclusion)
    .min(1)
    .max(10)
    .optional()
    .meta({
      title: "Exclusions",
      description: "Sentinels that this rollout leaves out: those that match any of these.",
      examples: [[{ regions: ["eu-central-1"], reason: "maintenance" }]],
    }),
  only: Only.optional().meta({
    title: "Only these",
    description: "Sentinels that match this get the image; all others are left out.",
    examples: [{ regions: ["eu-central-1"] }],
  }),
  regions: RegionOrder.optional().meta({
    title: "Order of regions",
    description:
      "An order, not a choice: the sentinels of these regions come first, one region after the other, and those of all other regions last (`only` takes no others). Without it each wave takes every region in proportion.",
    examples: [["eu-central-1", "us-east-1"]],
  }),
  canary_labels: LabelSelector.optional().meta({
    title: "Canaries",
    description: "Sentinels with these labels come first.",
    examples: [{ tier: "canary" }],
  }),
  max_per_region: Limit.optional().meta({
    title: "Cap per region",
    description:
      "How many sentinels of one region a wave may have: a count, or a percentage of the region's sentinels, rounded down, at least one. A wave with more becomes several.",
    examples: ["25%"],
  }),
  max_unavailable: Limit.optional().meta({
    title: "Unavailable at most",
    description:
      "How many sentinels of the fleet may be unhealthy, failed in this wave or in flight at one time: a count, or a percentage, rounded down, at least one.",
    examples: ["10%"],
  }),
  reason: Reason.optional().meta({ description: "Why this rollout is done." }),
};

const Choice = z.object(choiceFields);
/** The fields of a Rollout request that say which sentinels it takes, and in which order. */
export type Choice = z.infer<typeof Choice>;

/** Ids, regions or labels that no sentinel of the fleet has. */
export type ChoiceProblemCode = "unknown_choice";

export const maxPins = 200;

const pinShape = z.strictObject({
  id: RowId,
  fleet: FleetName.optional().meta({
    description: "The fleet for whose sentinels it holds; without it for those of every fleet.",
  }),
  ...selectorFields,
  whole_fleet: z.literal(true).optional().meta({
    description: "Instead of ids, regions and labels: it holds for every sentinel.",
  }),
  ends: instant("2026-12-20T00:00:00Z")
    .optional()
    .meta({ description: "It holds until then; without it until it is removed." }),
  reason: Reason,
});

function pinsSomething(pin: z.infer<typeof pinShape>): boolean {
  return selectsSomething(pin) !== (pin.whole_fleet === true);
}

/** Sentinels that every rollout leaves out. */
export const Pin = pinShape.refine(pinsSomething, aboutSelector).meta({
  title: "Pin",
  examples: [{ id: "debug-gw-7", ids: ["gw-7"], reason: "a memory leak is looked at there" }],
});
export type Pin = z.infer<typeof Pin>;

export const ListedPin = pinShape.extend({ added_by: z.string(), added_at: z.string() });
export type ListedPin = z.infer<typeof ListedPin>;

const ListRequest = z
  .strictObject({ fleet: fleetOrNone("Only those that hold for this fleet.") })
  .meta({ title: "PinListRequest", examples: [{}, { fleet: "production" }] });
const Removal = z
  .strictObject({ id: RowId, reason: Reason })
  .meta({ title: "PinRemoval", examples: [{ id: "debug-gw-7", reason: "it is found" }] });

export const pinsName = "vedette.v1.RolloutPins";

export const pinHandlers = {
  List: { input: ListRequest, output: z.object({ pins: z.array(ListedPin) }) },
  /** `warnings`: what it names that no sentinel has. */
  Add: { input: Pin, output: ListedPin.extend({ warnings: z.array(z.string()).default([]) }) },
  Remove: { input: Removal, output: ListedPin },
} as const;

export type PinProblemCode = "pin_exists" | "too_many_pins" | "unknown_pin";
