/** How to replace invocations of the monitor that another version of the program began. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { drillObject } from "./drills/internal.ts";
import {
  apiCheckObject,
  checkProbe,
  checkRecords,
  deadlineService,
  heartbeatObject,
  jobHeartbeats,
  runnerRegistry,
} from "./internal.ts";

const again = { isCalledAgain: true } as const;

/** Operators' calls are not replaced: the caller gets an error and can repeat the call. */
export const monitorDuties: Duties = {
  ...dutiesOf(apiCheckObject, {
    ensure: again,
    retire: again,
    tick: again,
    report: again,
    close: again,
    reconsider: again,
  }),
  ...dutiesOf(heartbeatObject, {
    ensure: again,
    redefine: again,
    retire: again,
    ping: again,
    overdue: again,
    expire: again,
  }),
  ...dutiesOf(drillObject, {
    start: again,
    tick: again,
    sendOut: again,
    judge: again,
    noted: again,
  }),
  ...dutiesOf(deadlineService, { passed: again }),
  ...dutiesOf(jobHeartbeats, { succeeded: again }),
  ...dutiesOf(checkProbe, { run: again }),
  ...dutiesOf(checkRecords, { write: again }),
};

export const monitorServices: readonly string[] = [
  apiCheckObject,
  heartbeatObject,
  deadlineService,
  drillObject,
  jobHeartbeats,
  checkProbe,
  checkRecords,
  runnerRegistry,
].map(({ name }) => name);
