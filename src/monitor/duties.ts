/** What becomes of the monitor's invocations that another version of the program has begun. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import {
  apiCheckObject,
  checkProbe,
  checkRecords,
  deadlineService,
  heartbeatObject,
  runnerRegistry,
} from "./internal.ts";

const again = { isCalledAgain: true } as const;

/** What an operator asked for is only ended: whoever waits is told so, and asks again. */
export const monitorDuties: Duties = {
  ...dutiesOf(apiCheckObject, {
    ensure: again,
    retire: again,
    tick: again,
    report: again,
    close: again,
  }),
  ...dutiesOf(heartbeatObject, {
    ensure: again,
    retire: again,
    ping: again,
    overdue: again,
    expire: again,
  }),
  ...dutiesOf(deadlineService, { passed: again }),
  ...dutiesOf(checkProbe, { run: again }),
  ...dutiesOf(checkRecords, { write: again }),
};

export const monitorServices: readonly string[] = [
  apiCheckObject,
  heartbeatObject,
  deadlineService,
  checkProbe,
  checkRecords,
  runnerRegistry,
].map(({ name }) => name);
