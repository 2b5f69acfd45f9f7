/** The Restate service of pins. */
import { iface } from "@restatedev/restate-sdk";
import { pinHandlers, pinsName } from "./contract.ts";

export const rolloutPins = iface.service(
  pinsName,
  {
    List: iface.schemas({ ...pinHandlers.List, description: "The pins, by id." }),
    Add: iface.schemas({
      ...pinHandlers.Add,
      description: "Adds a pin; it holds for deploys that have not begun.",
    }),
    Remove: iface.schemas({ ...pinHandlers.Remove, description: "Removes a pin." }),
  },
  { description: "Sentinels that rollouts leave out." },
);
