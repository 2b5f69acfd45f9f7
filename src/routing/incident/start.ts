/** Sets the drift check going, as often as a worker starts. */

import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { alertRoutesKey, alertRoutesName } from "#routing/incident/contract.ts";

/** `ingressUrl` is Restate's own. Throws when it does not take the call for half a minute. */
export async function startAlertRoutes(ingressUrl: string): Promise<void> {
  const address = `${ingressUrl}/${alertRoutesName}/${alertRoutesKey}/start`;
  await sendToRestate(address, {}, patience.start);
}
