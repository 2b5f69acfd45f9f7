/** Compares alert routes with their rows on a schedule. The routes' object notifies people of drift. */
import { everyMinutes, type Job, type JobRun } from "#cron/schedule.ts";

type Drift = {
  state: "in_step" | "drifted" | "unknown";
  routes: readonly { name: string }[];
  /** Why the state is unknown. */
  reason?: string | undefined;
};

type Parts = { minutes: number; compare: (run: JobRun) => Promise<Drift> };

export function createAlertRoutesDrift({ minutes, compare }: Parts): Job {
  return {
    schedule: everyMinutes(minutes),
    // The comparison retries its requests itself.
    retryForMs: 0,
    run: async (run) => summarize(await compare(run)),
  };
}

function summarize(drift: Drift): string {
  if (drift.state === "in_step") return "in step";
  if (drift.state === "unknown") return `unknown: ${drift.reason ?? "no reason given"}`;
  return `out of step: ${drift.routes.length} routes`;
}
