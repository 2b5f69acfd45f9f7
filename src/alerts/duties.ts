/** How to replace invocations of the alert delivery that another version of the program began. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { alertEvents } from "./contract.ts";
import { alertQueue, alertRecord } from "./internal.ts";

const again = { isCalledAgain: true } as const;

export const alertsDuties: Duties = {
  ...dutiesOf(alertQueue, {
    // An event may be in the queue already, which then ignores the second call: `goOn` continues delivery.
    enqueue: { ...again, restoredBy: "goOn" },
    wake: { restoredBy: "goOn" },
    retry: { restoredBy: "goOn" },
    goOn: { restoredBy: "goOn" },
  }),
  ...dutiesOf(alertRecord, { save: again, retriedBy: again }),
};

export const alertsServices: readonly string[] = [alertQueue, alertRecord, alertEvents].map(
  ({ name }) => name,
);
