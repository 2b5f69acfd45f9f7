/** Tells people once when an alert manager is out of step with the routes, and once when that is over. */
import type { Job, JobRun } from "#cron/job.ts";
import { everyMinutes } from "#cron/schedule.ts";

type Drift = {
  environment: string;
  state: "in_step" | "drifted" | "unknown";
  /** What differs, or why nobody knows. */
  lines: string[];
};

/** Of every alert manager that the settings name. */
export type ReadDrifts = () => Promise<Drift[]>;

const toldKey = "told";

export function createAlertmanagerDrift(readDrifts: ReadDrifts): Job {
  return {
    schedule: everyMinutes(10),
    retryForMs: 60_000,
    run: async (run) => {
      const drifts = await run.step("read-drifts", readDrifts);
      const told = (await run.recall<string[]>(toldKey)) ?? [];
      for (const drift of drifts) {
        const isTold = told.includes(drift.environment);
        if (drift.state === "drifted" && !isTold) announceDrift(run, drift);
        if (drift.state === "in_step" && isTold) announceEnd(run, drift);
      }
      run.remember(toldKey, toldAfter(told, drifts));
      return drifts.map(({ environment, state }) => `${environment} ${words[state]}`).join(", ");
    },
  };
}

const words = { in_step: "in step", drifted: "out of step", unknown: "unknown" };

/** What is unknown stays as it was told last. */
function toldAfter(told: readonly string[], drifts: readonly Drift[]): string[] {
  const isOut = ({ environment, state }: Drift) =>
    state === "drifted" || (state === "unknown" && told.includes(environment));
  return drifts.filter(isOut).map(({ environment }) => environment);
}

/** As much as people read; the command shows the rest. */
const maxLines = 8;

function announceDrift({ post, runId }: JobRun, { environment, lines }: Drift): void {
  const command = `vedette alerts alertmanager plan --environment ${environment}`;
  const more = lines.length > maxLines ? [`… and ${lines.length - maxLines} more`] : [];
  post("alert_routes", {
    id: `alertmanager-drift#${runId}#${environment}#drifted`,
    title: `The alert manager (${environment}) is out of step with the routes`,
    tone: "warning",
    lines: [...lines.slice(0, maxLines), ...more, `To see all: ${command}`],
    fields: [],
  });
}

function announceEnd({ post, runId }: JobRun, { environment }: Drift): void {
  post("alert_routes", {
    id: `alertmanager-drift#${runId}#${environment}#in-step`,
    title: `The alert manager (${environment}) is in step with the routes again`,
    tone: "success",
    lines: ["Its file and what it works with are as the routes have them."],
    fields: [],
  });
}
