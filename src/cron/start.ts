/** Starts all timers whenever a worker starts; a timer that runs already does not change. */
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { cronJobs, cronServiceName } from "./contract.ts";

/** `ingressUrl` is Restate's own. Throws when Restate accepts a call not within half a minute. */
export async function startCron(ingressUrl: string): Promise<void> {
  const start = (job: string) =>
    sendToRestate(`${ingressUrl}/${cronServiceName}/${job}/start`, {}, patience.start);
  await Promise.all(cronJobs.map(start));
}

const everyMs = 5 * 60_000;

/** Repeats this every 5 minutes, because a timer that was killed or set by a clock ahead would never tick. */
export function keepCron(ingressUrl: string, log: Log): { stop: () => void } {
  const timer = setInterval(() => {
    startCron(ingressUrl).catch((error: Error) =>
      log.warn({ detail: error.message }, "timed jobs not started again"),
    );
  }, everyMs);
  return { stop: () => clearInterval(timer) };
}
