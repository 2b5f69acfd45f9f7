/** Starts the monitor whenever a worker starts; what runs already does not change. */
import pLimit from "p-limit";
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate.ts";
import type { Heartbeat, ReadDefinitions } from "./contract.ts";
import { drillService } from "./drills/contract.ts";
import { type JobSuccess, jobHeartbeats } from "./internal.ts";
import type { Outage } from "./state/outage.ts";
import type { States } from "./state/store.ts";
import { watchStates } from "./state/watch.ts";

type Parts = { readDefinitions: ReadDefinitions; states: States; outage: Outage; log: Log };

/** `ingressUrl` is Restate's own. Throws when Restate accepts a call not within half a minute. */
export async function startMonitor(
  ingressUrl: string,
  { readDefinitions, ...parts }: Parts,
): Promise<{ stop: () => Promise<void> }> {
  await parts.states.decideAll();
  const watch = watchStates(parts);
  const { heartbeats } = await readDefinitions();
  const limit = pLimit(32);
  const send = (address: string) => limit(() => sendToRestate(address, {}, patience.start));
  await Promise.all(
    drillsOf(heartbeats).map((id) => send(`${ingressUrl}/${drillService}/${id}/start`)),
  );
  return watch;
}

export function drillsOf(heartbeats: readonly Heartbeat[]): string[] {
  return heartbeats.filter(({ drill }) => drill !== undefined).map(({ id }) => id);
}

/** The call for a timed job that ended well. */
export function notifyHeartbeats(request: JobSuccess) {
  return { service: jobHeartbeats.name, handler: "succeeded", request };
}
