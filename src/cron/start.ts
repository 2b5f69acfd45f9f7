/** Sets all timers going, as often as a worker starts: one that goes already is left alone. */
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import { cronJobs, cronServiceName } from "./contract.ts";

/** `ingressUrl` is Restate's own. Throws when it does not take the calls for half a minute. */
export async function startCron(ingressUrl: string): Promise<void> {
  const start = (job: string) =>
    sendToRestate(`${ingressUrl}/${cronServiceName}/${job}/start`, {}, patience.start);
  await Promise.all(cronJobs.map(start));
}

const everyMs = 5 * 60_000;

/** Goes on doing so: a timer that was killed, or set by a clock that was ahead, would be silent. */
export function keepCron(ingressUrl: string, log: Log): { stop: () => void } {
  const timer = setInterval(() => {
    startCron(ingressUrl).catch((error: Error) =>
      log.warn({ detail: error.message }, "timed jobs not looked after"),
    );
  }, everyMs);
  return { stop: () => clearInterval(timer) };
}
