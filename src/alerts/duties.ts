/** What becomes of invocations of alert events that another version of the program has begun. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { alertEvents } from "./contract.ts";
import { alertQueue, alertRecord } from "./internal.ts";

const again = { isCalledAgain: true } as const;

export const alertsDuties: Duties = {
  ...dutiesOf(alertQueue, {
    // An event that was written down already is known: it is its queue that has to go on.
    enqueue: { ...again, restoredBy: "goOn" },
    wake: { restoredBy: "goOn" },
    retry: { restoredBy: "goOn" },
    goOn: { restoredBy: "goOn" },
  }),
  ...dutiesOf(alertRecord, { save: again }),
};

export const alertsServices: readonly string[] = [alertQueue, alertRecord, alertEvents].map(
  ({ name }) => name,
);
