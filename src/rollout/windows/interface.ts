/** The Restate service of windows. */
import { iface } from "@restatedev/restate-sdk";
import { windowHandlers, windowsName } from "./contract.ts";

export const rolloutWindows = iface.service(
  windowsName,
  {
    List: iface.schemas({
      ...windowHandlers.List,
      description: "The allowed windows and freezes, and whether a wave may start now.",
    }),
    Add: iface.schemas({
      ...windowHandlers.Add,
      description: "Adds an allowed window or a freeze; it holds for the next wave.",
    }),
    Remove: iface.schemas({ ...windowHandlers.Remove, description: "Removes a window." }),
  },
  { description: "When the waves of rollouts may start, and when not." },
);
