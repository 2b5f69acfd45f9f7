/** What becomes of invocations of alert events and alert routes that another version of the program has begun. */

import { alertEvents } from "#alerts/contract.ts";
import { alertQueue, alertRecord } from "#alerts/internal.ts";
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { alertRoutesObject, alertRoutesRunner } from "#routing/incident/internal.ts";

const again = { isCalledAgain: true } as const;

/** An apply is only ended: it stops, says so, and the next one knows what it was about to create. */
export const alertingDuties: Duties = {
  ...dutiesOf(alertQueue, {
    // An event that was written down already is known: it is its queue that has to go on.
    enqueue: { ...again, restoredBy: "goOn" },
    wake: { restoredBy: "goOn" },
    retry: { restoredBy: "goOn" },
    goOn: { restoredBy: "goOn" },
  }),
  ...dutiesOf(alertRecord, { save: again }),
  ...dutiesOf(alertRoutesObject, {
    note: again,
    keep: again,
    checked: again,
    finished: { ...again, restoredBy: "start" },
    start: { restoredBy: "start" },
    tick: { restoredBy: "start" },
  }),
  ...dutiesOf(alertRoutesRunner, { apply: {}, check: {} }),
};

export const alertingServices: readonly string[] = [
  alertQueue,
  alertRecord,
  alertEvents,
  alertRoutesObject,
  alertRoutesRunner,
].map(({ name }) => name);
