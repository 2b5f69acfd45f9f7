/** What happens to invocations of alert routes that another version of the program has begun. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { alertRoutesObject, alertRoutesRuns } from "./incident/internal.ts";

const again = { isCalledAgain: true } as const;

/** An apply is only ended, and reported as stopped; the next one knows what it was about to create. */
export const routingDuties: Duties = {
  ...dutiesOf(alertRoutesObject, {
    note: again,
    keep: again,
    checked: again,
    finished: { ...again, restoredBy: "start" },
    start: { restoredBy: "start" },
  }),
  ...dutiesOf(alertRoutesRuns, { apply: {}, check: {} }),
};

export const routingServices: readonly string[] = [alertRoutesObject, alertRoutesRuns].map(
  ({ name }) => name,
);
