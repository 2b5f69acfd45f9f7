/** Sets all checks going, as often as a worker starts: one that goes already is left alone. */
import pLimit from "p-limit";
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { createTellDeadlines, watchDeadlines } from "./deadline-watch.ts";
import type { Deadlines } from "./deadlines.ts";
import { apiCheckService, heartbeatService } from "./objects-contract.ts";
import type { MonitorParts } from "./parts.ts";

type Parts = Pick<MonitorParts, "definitions"> & { deadlines: Deadlines; log: Log };

/** `ingressUrl` is Restate's own. Throws when it does not take the calls for half a minute. */
export async function startMonitor(
  ingressUrl: string,
  { definitions, deadlines, log }: Parts,
): Promise<{ stop: () => Promise<void> }> {
  const { apiChecks, heartbeats } = definitions;
  await deadlines.adopt(heartbeats);
  const watched = new Set(await deadlines.watched());
  const objects = [
    ...apiChecks.map(({ id }) => `${apiCheckService}/${id}`),
    ...heartbeats.filter(({ id }) => watched.has(id)).map(({ id }) => `${heartbeatService}/${id}`),
  ];
  const limit = pLimit(32);
  const ensure = (object: string) =>
    limit(() => sendToRestate(`${ingressUrl}/${object}/ensure`, {}, patience.start));
  await Promise.all(objects.map(ensure));
  return watchDeadlines({ deadlines, tell: createTellDeadlines(ingressUrl), log });
}
