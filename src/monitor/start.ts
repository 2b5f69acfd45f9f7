/** Sets all checks going, as often as a worker starts: one that goes already is left alone. */
import pLimit from "p-limit";
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { apiCheckService, heartbeatService } from "./objects-contract.ts";
import type { MonitorParts } from "./parts.ts";

/** `ingressUrl` is Restate's own. Throws when it does not take the calls for half a minute. */
export async function startMonitor(
  ingressUrl: string,
  { definitions, inbox }: Pick<MonitorParts, "definitions" | "inbox">,
): Promise<void> {
  const known = new Set(definitions.heartbeats.map(({ id }) => id));
  const registered = (await inbox.registered()).filter((id) => known.has(id));
  const objects = [
    ...definitions.apiChecks.map(({ id }) => `${apiCheckService}/${id}`),
    ...registered.map((id) => `${heartbeatService}/${id}`),
  ];
  const limit = pLimit(32);
  const ensure = (object: string) =>
    limit(() => sendToRestate(`${ingressUrl}/${object}/ensure`, {}, patience.start));
  await Promise.all(objects.map(ensure));
}
