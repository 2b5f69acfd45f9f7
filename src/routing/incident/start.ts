/** Starts drift checks of alert routes. */
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { alertRoutesKey, alertRoutesName } from "#routing/incident/contract.ts";
import { alertRoutesRuns } from "./internal.ts";

/**
 * Called whenever a worker starts, because a new version may have other rows. `ingressUrl` is Restate's
 * own. Throws when Restate does not accept the call for half a minute.
 */
export async function startAlertRoutes(ingressUrl: string): Promise<void> {
  const address = `${ingressUrl}/${alertRoutesName}/${alertRoutesKey}/start`;
  await sendToRestate(address, {}, patience.start);
}

/** The call that checks now, and answers with the drift report. */
export const driftCheck = {
  service: alertRoutesRuns.name,
  key: alertRoutesKey,
  handler: "check",
  request: {},
};
