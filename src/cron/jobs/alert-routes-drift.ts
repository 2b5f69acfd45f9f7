/** Compares alert routes with their rows again and again. The routes themselves tell people of a change. */
import type { Job, JobRun } from "#cron/job.ts";
import { everyMinutes } from "#cron/schedule.ts";

type Drift = {
  state: "in_step" | "drifted" | "unknown";
  routes: readonly { name: string }[];
  /** Why nobody knows. */
  reason?: string | undefined;
};

/** How often, and what a comparison found; null: an earlier version of the program made it. */
type Parts = { minutes: number; compare: (run: JobRun) => Promise<Drift | null> };

export function createAlertRoutesDrift({ minutes, compare }: Parts): Job {
  return {
    schedule: everyMinutes(minutes),
    // The comparison repeats its requests itself.
    retryForMs: 0,
    run: async (run) => summarize(await compare(run)),
  };
}

function summarize(drift: Drift | null): string {
  if (drift === null) return "compared";
  if (drift.state === "in_step") return "in step";
  if (drift.state === "unknown") return `unknown: ${drift.reason ?? "no reason given"}`;
  return `out of step: ${drift.routes.length} routes`;
}
