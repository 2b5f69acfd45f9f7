/** What becomes of the timers' invocations that another version of the program has begun. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { cronObject, cronRuns } from "./internal.ts";

const again = { isCalledAgain: true } as const;

/** A run is made once more and not left to the next tick, which may be a day away. */
export const cronDuties: Duties = {
  ...dutiesOf(cronObject, { start: again, tick: again, finished: again }),
  ...dutiesOf(cronRuns, { run: again }),
};

export const cronServices: readonly string[] = [cronObject.name, cronRuns.name];
