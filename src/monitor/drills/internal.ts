import { iface } from "@restatedev/restate-sdk";
import { z } from "zod";
import { DrillOutcome } from "#alerts/contract.ts";
import { drillHandlers, drillService } from "./contract.ts";

type Nothing = Record<string, never>;

export const drillObject = iface.object(
  drillService,
  {
    Run: iface.schemas({
      ...drillHandlers.Run,
      description: "Sends the test alert now, outside the schedule.",
    }),
    /** The definition may be new or changed: sets the timer, unless it is set already. */
    start: iface.json<Nothing, null>(),
    tick: iface.json<{ generation: number }, null>(),
    /** Sends the test alert of a run that an operator began. */
    sendOut: iface.json<{ episode: number }, null>(),
    /** The grace of this run is over. */
    judge: iface.json<{ episode: number }, null>(),
    noted: iface.schemas({ input: DrillOutcome, output: z.null() }),
  },
  { description: "The timer of a drill; the key is its id." },
);
