/** The order of fleets: a fleet may take an image only after another one. */
import { z } from "zod";
import { FleetName, fleetOrNone } from "#fleet/contract.ts";
import { Reason, RowId } from "#rollout/values-contract.ts";

export const maxPromotions = 100;

const promotionShape = z.strictObject({
  id: RowId,
  fleet: FleetName.meta({ description: "The fleet whose rollouts wait." }),
  after: FleetName.meta({ description: "The fleet that has to have completed the image." }),
  reason: Reason,
});

/** Rollout of an image to `fleet` is refused until a rollout of it to `after` has completed. */
export const Promotion = promotionShape
  .refine(({ fleet, after }) => fleet !== after, {
    error: "must be another fleet",
    path: ["after"],
  })
  .meta({
    title: "Promotion",
    examples: [
      { id: "staging-first", fleet: "production", after: "staging", reason: "our release process" },
    ],
  });
export type Promotion = z.infer<typeof Promotion>;

const ListedPromotion = promotionShape.extend({ added_by: z.string(), added_at: z.string() });
export type ListedPromotion = z.infer<typeof ListedPromotion>;

const ListRequest = z
  .strictObject({ fleet: fleetOrNone("Only those of this fleet.") })
  .meta({ title: "PromotionListRequest", examples: [{}, { fleet: "production" }] });
const Removal = z.strictObject({ id: RowId, reason: Reason }).meta({
  title: "PromotionRemoval",
  examples: [{ id: "staging-first", reason: "incident 4711" }],
});

export const promotionsName = "vedette.v1.RolloutPromotions";

export const promotionHandlers = {
  List: { input: ListRequest, output: z.object({ promotions: z.array(ListedPromotion) }) },
  Add: { input: Promotion, output: ListedPromotion },
  Remove: { input: Removal, output: ListedPromotion },
} as const;

export type PromotionProblemCode =
  | "promotion_exists"
  | "too_many_promotions"
  | "unknown_promotion"
  | "promotion_circle";
