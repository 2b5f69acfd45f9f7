/** Handlers that the program calls itself. Control forwards only the capitalized ones. */
import { iface } from "@restatedev/restate-sdk";
import {
  type ApplyAnswer,
  type ApplyRequest,
  type DefinitionSource,
  definitionsHandlers,
  definitionsService,
} from "./contract.ts";

/** The definitions that a start applies. */
export type StartRequest = ApplyRequest & { source: Exclude<DefinitionSource, "command"> };

export const definitionsObject = iface.object(
  definitionsService,
  {
    Plan: iface.shared.schemas({
      ...definitionsHandlers.Plan,
      description: "What applying these definitions would change, and what is doubtful about them.",
    }),
    Apply: iface.schemas({
      ...definitionsHandlers.Apply,
      description: "Replaces the definitions; checks whose rows did not change keep their state.",
    }),
    Show: iface.shared.schemas({
      ...definitionsHandlers.Show,
      description: "The definitions in force.",
    }),
    /** Does the same as Apply, for a start; one without a file leaves alone what a file or a command applied. */
    start: iface.json<StartRequest, ApplyAnswer>(),
    /** Tells the checks what an apply that was ended half-way has not told them. */
    finish: iface.json<Record<string, never>, null>(),
  },
  {
    description:
      "The definitions of checks, heartbeats, channels and routes; the key is singleton.",
  },
);
