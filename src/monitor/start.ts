/** Starts all checks whenever a worker starts; a check that runs already does not change. */
import pLimit from "p-limit";
import { alertDelivery, directQueueKey } from "#alerts/contract.ts";
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate.ts";
import { watchClock } from "./clock-watch.ts";
import type { ApiCheck, CheckSnapshot, Heartbeat } from "./contract.ts";
import { drillService } from "./drills/contract.ts";
import { createSendDeadlines, watchDeadlines } from "./heartbeat/deadline-watch.ts";
import type { Deadlines } from "./heartbeat/deadlines.ts";
import { type JobSuccess, jobHeartbeats } from "./internal.ts";
import { apiCheckService, heartbeatService } from "./operations/contract.ts";
import type { MonitorParts } from "./services.ts";

type Parts = Pick<MonitorParts, "readDefinitions"> & {
  deadlines: Deadlines;
  log: Log;
  aheadMs?: () => number;
};

/** `ingressUrl` is Restate's own. Throws when Restate accepts a call not within half a minute. */
export async function startMonitor(
  ingressUrl: string,
  { readDefinitions, deadlines, log, ...clock }: Parts,
): Promise<{ stop: () => Promise<void> }> {
  await deadlines.adopt((await readDefinitions({ isFresh: true })).heartbeats);
  const ensureAll = async () => {
    const { apiChecks, heartbeats } = await readDefinitions({ isFresh: true });
    const watched = new Set(await deadlines.watched());
    const objects = [
      ...apiChecks.map(({ id }) => `${apiCheckService}/${id}`),
      ...heartbeats
        // The job of one may have been switched off or on by the settings.
        .filter(({ id, job }) => watched.has(id) || job !== undefined)
        .map(({ id }) => `${heartbeatService}/${id}`),
    ];
    const drills = heartbeats.filter(({ drill }) => drill !== undefined);
    await sendToAll([
      ...objects.map((object) => `${ingressUrl}/${object}/ensure`),
      ...drills.map(({ id }) => `${ingressUrl}/${drillService}/${id}/start`),
    ]);
  };
  const retryEvents = async () => {
    const { apiChecks, heartbeats } = await readDefinitions({ isFresh: true });
    const queues = [...apiChecks, ...heartbeats].flatMap(queuesOf);
    await sendToAll(queues.map((key) => `${ingressUrl}/${alertDelivery.name}/${key}/goOn`));
  };
  await ensureAll();
  const watches = [
    watchDeadlines({ deadlines, send: createSendDeadlines(ingressUrl), log }),
    watchClock({ ...clock, onSetBack: () => ensureAll().then(retryEvents), log }),
  ];
  return { stop: async () => void (await Promise.all(watches.map(({ stop }) => stop()))) };
}

/** The keys of the queues in which its alert events may wait. */
function queuesOf({ id, directChannels = [] }: ApiCheck | Heartbeat): string[] {
  return [id, ...directChannels.map((channel) => directQueueKey(id, channel.id))];
}

/** The call for a timed job that ended well. */
export function notifyHeartbeats(request: JobSuccess) {
  return { service: jobHeartbeats.name, handler: "succeeded", request };
}

/** With its kind: an API check and a heartbeat may have had the same id, one after the other. */
export type KnownCheck = Pick<CheckSnapshot, "checkId" | "kind">;

/**
 * Ends the alerts and timers of checks that are no longer defined. `known`: the checks that were ever
 * watched, except those already ended. A check that is defined again is started after this, since Restate
 * serves the calls of one key in order.
 */
export async function retireRemoved(
  ingressUrl: string,
  {
    readDefinitions,
    known,
  }: Pick<MonitorParts, "readDefinitions"> & { known: readonly KnownCheck[] },
): Promise<void> {
  const definitions = await readDefinitions({ isFresh: true });
  const defined = {
    api: new Set(definitions.apiChecks.map(({ id }) => id)),
    heartbeat: new Set(definitions.heartbeats.map(({ id }) => id)),
  };
  const services = { api: apiCheckService, heartbeat: heartbeatService };
  const removed = known.filter(({ checkId, kind }) => !defined[kind].has(checkId));
  await sendToAll(
    removed.map(
      ({ checkId, kind }) =>
        `${ingressUrl}/${services[kind]}/${encodeURIComponent(checkId)}/retire`,
    ),
  );
}

async function sendToAll(addresses: readonly string[]): Promise<void> {
  const limit = pLimit(32);
  const send = (address: string) => limit(() => sendToRestate(address, {}, patience.start));
  await Promise.all(addresses.map(send));
}
