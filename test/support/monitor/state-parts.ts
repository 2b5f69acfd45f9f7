/** Parts of the states of checks for tests in which none runs. */
import { createLog } from "#kernel/log.ts";
import type { StateParts } from "#monitor/state/store.ts";

export const unusedStateParts: Omit<StateParts, "database" | "readDefinitions"> = {
  whyOff: () => [],
  settings: { location: "local", failedAtPercent: 0, runsHere: false },
  readFurther: async () => [],
  readRollout: async () => null,
  readBlame: async () => () => [],
  probe: () => {},
  wakeDelivery: () => {},
  count: () => {},
  remember: () => {},
  log: createLog({ level: "silent", format: "json" }),
};
