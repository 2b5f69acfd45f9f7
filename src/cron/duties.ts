/** How to replace invocations of the timed jobs that another version of the program began. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { cronObject, cronRuns } from "./internal.ts";

const again = { isCalledAgain: true } as const;

/** A run is repeated now, because the next tick may be a day away. */
export const cronDuties: Duties = {
  ...dutiesOf(cronObject, { start: again, tick: again, finished: again }),
  ...dutiesOf(cronRuns, { run: again }),
};

export const cronServices: readonly string[] = [cronObject.name, cronRuns.name];
