/** Handlers that the parts of a timed job call on each other. Control forwards only `Status` and `Run`. */
import { iface } from "@restatedev/restate-sdk-core";
import { patience, sendToRestate } from "#kernel/ingress.ts";
import type { Log } from "#kernel/log.ts";
import { type CronRun, cronHandlers, cronJobs, cronServiceName } from "./contract.ts";

/** The operator who starts a run; null: its timer does. */
export type Starter = { by: string | null };

/** `runId` names the run in messages and in the log. */
export type RunOrder = Starter & { runId: string; startedAtMs: number };

export type Launched = { invocation: string; runId: string };

/** One object per job: its timer and its current run. Every exclusive handler is short. */
export const cronObject = iface.object(
  cronServiceName,
  {
    Status: iface.shared.schemas({
      ...cronHandlers.Status,
      description: "When the job runs next, whether it runs now, and how the last run ended.",
    }),
    Run: iface.shared.schemas({
      ...cronHandlers.Run,
      description: "Runs the job now and answers when it has ended. Refused while it runs.",
    }),
    start: iface.json<Record<string, never>, null>(),
    tick: iface.json<{ generation: number }, null>(),
    launch: iface.json<Starter, Launched>(),
    finished: iface.json<CronRun, null>(),
  },
  { description: "A timed job; the key is its name." },
);

/** One object per job: runs it. The key's lock prevents concurrent runs in any case. */
export const cronRuns = iface.object("vedette.v1.CronRunner", {
  run: iface.json<RunOrder, CronRun>(),
});

/** `ingressUrl` is Restate's own. Throws when Restate accepts a call not within half a minute. */
export async function startCron(ingressUrl: string): Promise<void> {
  const start = (job: string) =>
    sendToRestate({ ingressUrl, path: `/${cronServiceName}/${job}/start` }, {}, patience.start);
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
