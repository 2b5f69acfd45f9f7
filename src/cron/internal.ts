/** Handlers that the parts of a timed job call on each other. Control forwards only `Status` and `Run`. */
import { iface } from "@restatedev/restate-sdk-core";
import { type CronRun, cronHandlers, cronServiceName } from "./contract.ts";

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
