/** How the comparison of alert routes with their rows is asked for. */

import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { alertRoutesKey, alertRoutesName } from "#routing/incident/contract.ts";
import { alertRoutesRuns, type CheckWork } from "./internal.ts";

/**
 * As often as a worker starts, because rows change with it. `ingressUrl` is Restate's own. Throws when it
 * does not take the call for half a minute.
 */
export async function startAlertRoutes(ingressUrl: string): Promise<void> {
  const address = `${ingressUrl}/${alertRoutesName}/${alertRoutesKey}/start`;
  await sendToRestate(address, {}, patience.start);
}

/** The call that compares now, and answers a report of drift. */
export const driftCheck = {
  service: alertRoutesRuns.name,
  key: alertRoutesKey,
  handler: "check",
  request: { readsOwned: true } satisfies CheckWork,
};
