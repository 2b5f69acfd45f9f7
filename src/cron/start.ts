/** Sets all timers going, as often as a worker starts: one that goes already is left alone. */
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { cronJobs, cronServiceName } from "./contract.ts";

/** `ingressUrl` is Restate's own. Throws when it does not take the calls for half a minute. */
export async function startCron(ingressUrl: string): Promise<void> {
  const start = (job: string) =>
    sendToRestate(`${ingressUrl}/${cronServiceName}/${job}/start`, {}, patience.start);
  await Promise.all(cronJobs.map(start));
}
