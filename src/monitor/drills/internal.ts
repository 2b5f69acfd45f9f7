/** Handlers of a drill's object. */
import { iface } from "@restatedev/restate-sdk";
import type { DrillNews } from "#alerts/contract.ts";

type Nothing = Record<string, never>;

export const drillService = "vedette.v1.Drill";

export const drillObject = iface.object(
  drillService,
  {
    /** The definition may be new or changed: sets the timer, unless it is set already. */
    start: iface.json<Nothing, null>(),
    tick: iface.json<{ generation: number }, null>(),
    /** The grace of this run is over. */
    judge: iface.json<{ episode: number }, null>(),
    noted: iface.json<DrillNews, null>(),
  },
  { description: "The timer of a drill; the key is its id." },
);
