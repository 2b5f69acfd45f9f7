/** The jobs that notice drift: of alert managers, of alert routes from their rows, of fleets from their desired images. */
import { CancelledError, TerminalError } from "@restatedev/restate-sdk";
import { type CallTarget, everyMinutes, type Job, type JobRun } from "#cron/schedule.ts";

type Drift = {
  environment: string;
  state: "in_step" | "drifted" | "unknown";
  /** The differences, or why the state is unknown. */
  lines: string[];
};

/** Reads the drift of every alert manager that the settings name. */
export type ReadDrifts = () => Promise<Drift[]>;

/** The environments whose drift was announced. */
const announcedKey = "told";

export function createAlertmanagerDrift(readDrifts: ReadDrifts): Job {
  return {
    schedule: everyMinutes(10),
    retryForMs: 60_000,
    run: async (run) => {
      const drifts = await run.step("read-drifts", readDrifts);
      const announced = (await run.recall<string[]>(announcedKey)) ?? [];
      for (const drift of drifts) {
        const isAnnounced = announced.includes(drift.environment);
        if (drift.state === "drifted" && !isAnnounced) announceDrift(run, drift);
        if (drift.state === "in_step" && isAnnounced) announceEnd(run, drift);
      }
      run.remember(announcedKey, announcedAfter(announced, drifts));
      return drifts.map(({ environment, state }) => `${environment} ${words[state]}`).join(", ");
    },
  };
}

const words = { in_step: "in step", drifted: "out of step", unknown: "unknown" };

/** While a state is unknown, the last announcement counts. */
function announcedAfter(announced: readonly string[], drifts: readonly Drift[]): string[] {
  const isOut = ({ environment, state }: Drift) =>
    state === "drifted" || (state === "unknown" && announced.includes(environment));
  return drifts.filter(isOut).map(({ environment }) => environment);
}

/** The most lines of a message; the command shows the rest. */
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
    lines: ["Its file and its running configuration match the routes."],
    fields: [],
  });
}

/** One check of a fleet: the call answers with what it found, in words. */
type FleetCheck = { fleet: string; check: CallTarget };

export function createFleetDrift(checks: readonly FleetCheck[]): Job {
  return {
    schedule: everyMinutes(1),
    // A check retries its own reads.
    retryForMs: 0,
    run: async ({ call }) => {
      const lines: string[] = [];
      let hasFailed = false;
      for (const { fleet, check } of checks) {
        const { found, failure } = await attempt(call<string>(check));
        hasFailed ||= failure !== undefined;
        lines.push(`${fleet}: ${found ?? failure}`);
      }
      if (hasFailed) throw new TerminalError(lines.join("; "));
      return lines.join("; ");
    },
  };
}

/** A fleet that cannot be compared must not keep others from it. */
async function attempt(call: Promise<string>): Promise<{ found?: string; failure?: string }> {
  try {
    return { found: await call };
  } catch (error) {
    if (!(error instanceof TerminalError) || error instanceof CancelledError) throw error;
    return { failure: error.message };
  }
}

type RoutesDrift = {
  state: "in_step" | "drifted" | "unknown";
  routes: readonly { name: string }[];
  /** Why the state is unknown. */
  reason?: string | undefined;
};

type Parts = { minutes: number; compare: (run: JobRun) => Promise<RoutesDrift> };

export function createAlertRoutesDrift({ minutes, compare }: Parts): Job {
  return {
    schedule: everyMinutes(minutes),
    // The comparison retries its requests itself.
    retryForMs: 0,
    run: async (run) => summarizeRoutes(await compare(run)),
  };
}

function summarizeRoutes(drift: RoutesDrift): string {
  if (drift.state === "in_step") return "in step";
  if (drift.state === "unknown") return `unknown: ${drift.reason ?? "no reason given"}`;
  return `out of step: ${drift.routes.length} routes`;
}
