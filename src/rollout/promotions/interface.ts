/** The Restate service of promotions. */
import { iface } from "@restatedev/restate-sdk";
import { promotionHandlers, promotionsName } from "./contract.ts";

export const rolloutPromotions = iface.service(
  promotionsName,
  {
    List: iface.schemas({ ...promotionHandlers.List, description: "The promotions, by id." }),
    Add: iface.schemas({
      ...promotionHandlers.Add,
      description: "Adds a promotion; it holds for rollouts that are not started yet.",
    }),
    Remove: iface.schemas({ ...promotionHandlers.Remove, description: "Removes a promotion." }),
  },
  { description: "Which fleet takes an image only after another one." },
);
