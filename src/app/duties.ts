/** Duties for invocations that another version of the program began, and the services that are watched for them. */
import { alertEvents, notices } from "#alerts/contract.ts";
import { alertQueue, alertRecord } from "#alerts/internal.ts";
import { cronObject, cronRuns } from "#cron/internal.ts";
import { definitionsObject } from "#definitions/internal.ts";
import { fleetService } from "#fleet/contract.ts";
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { drillObject } from "#monitor/drills/internal.ts";
import {
  apiCheckObject,
  checkProbe,
  checkRecords,
  deadlineService,
  heartbeatObject,
  jobHeartbeats,
  runnerRegistry,
} from "#monitor/internal.ts";
import { checkReads } from "#monitor/results/contract.ts";
import { alertRoutesObject, alertRoutesRuns } from "#routing/incident/internal.ts";
import { releaseService } from "#worker/release.ts";

const again = { isCalledAgain: true } as const;
const goOn = { restoredBy: "goOn" } as const;

/** Operators' calls are not replaced: the caller gets an error and can repeat the call. */
export const duties: Duties = {
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
  // An event may be in the queue already, which then ignores the second call: `goOn` continues delivery.
  ...dutiesOf(alertQueue, { enqueue: { ...again, ...goOn }, wake: goOn, retry: goOn, goOn }),
  ...dutiesOf(notices, { post: again }),
  ...dutiesOf(alertRecord, { save: again, retriedBy: again }),
  // An apply is only ended, and reported as stopped; the next one knows what it was about to create.
  ...dutiesOf(alertRoutesObject, {
    note: again,
    keep: again,
    checked: again,
    finished: { ...again, restoredBy: "start" },
    start: { restoredBy: "start" },
  }),
  ...dutiesOf(alertRoutesRuns, { apply: {}, check: {} }),
  // A run is repeated now, because the next tick may be a day away.
  ...dutiesOf(cronObject, { start: again, tick: again, finished: again }),
  ...dutiesOf(cronRuns, { run: again }),
  ...dutiesOf(definitionsObject, {
    // The caller gets an error and may repeat it; what it wrote is told to the checks.
    Apply: { restoredBy: "finish" },
    start: { restoredBy: "finish" },
    finish: again,
  }),
};

/** All services except those of rollouts, which are released separately. */
export const watchedServices: readonly string[] = [
  apiCheckObject,
  heartbeatObject,
  deadlineService,
  drillObject,
  jobHeartbeats,
  checkProbe,
  checkRecords,
  runnerRegistry,
  notices,
  alertQueue,
  alertRecord,
  alertEvents,
  alertRoutesObject,
  alertRoutesRuns,
  cronObject,
  cronRuns,
  definitionsObject,
  checkReads,
  fleetService,
  releaseService,
].map(({ name }) => name);
