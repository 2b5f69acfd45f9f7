/** Grades a container by the answers of its engine. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { mostGraded } from "#fleet/drivers/pull-failure.ts";
import { cleanWords } from "#kernel/log.ts";
import { readyWithinLabel } from "./family.ts";
import type { ContainerInfo } from "./schemas.ts";

export type Verdict = { status: "starting" | "ready" } | { status: "failed"; reason: string };

/** `nowMs`: by the engine's clock. */
export type JudgeLimits = { nowMs: number; stableMs: number; readyTimeoutMs: number };

const maxOutput = 200;

/** `starting`: also never started. Ready: it ran for `stableMs` without a restart, and its health check is content. */
export function gradeContainer(container: ContainerInfo, given: JudgeLimits): Verdict {
  const limits = { ...given, readyTimeoutMs: readyWithin(container, given) };
  const { State: state, RestartCount: restarts } = container;
  if (state.OOMKilled) return failed("oom_killed", "its memory limit was reached");
  // While it waits for its restart an engine calls it running.
  if (restarts > 0 || state.Restarting) return failed("crash_loop", `exit code ${state.ExitCode}`);
  if (state.Status === "created") return gradeCreated(state);
  const probe = failedProbe(container);
  if (probe !== undefined) return probe;
  if (!state.Running) return gradeEnded(state, limits);
  return gradeRunning(container, limits);
}

function readyWithin({ Config }: ContainerInfo, { readyTimeoutMs }: JudgeLimits): number {
  const labelled = Number(Config.Labels[readyWithinLabel]);
  return labelled > 0 ? Math.min(labelled, readyTimeoutMs) : readyTimeoutMs;
}

function failed(code: ReasonCode, words: string): Verdict {
  return { status: "failed", reason: `${code}: ${words}` };
}

/** An engine keeps why it could not start a container. */
function gradeCreated({ Error: error, ExitCode: code }: ContainerInfo["State"]): Verdict {
  if (error !== "") return { status: "failed", reason: startFailure(error) };
  return code === 0 ? { status: "starting" } : failed("start_error", `exit code ${code}`);
}

/** The reason of a start that the engine has refused, by its words. */
export function startFailure(given: string): string {
  const words = given.slice(0, mostGraded);
  const code: ReasonCode = /port is already allocated|address already in use/i.test(words)
    ? "port_conflict"
    : /network .*not found|no such (network|volume|device)|mount/i.test(words)
      ? "config_invalid"
      : "start_error";
  return `${code}: ${cleanWords(words, maxOutput)}`;
}

/** An engine calls every stopped container unhealthy, also one that had time left to become healthy. */
function failedProbe({ State: { Health: health } }: ContainerInfo): Verdict | undefined {
  if (health?.Status !== "unhealthy" || health.FailingStreak === 0) return undefined;
  return failed("probe_failing", lastCheck(health) || "the health check fails");
}

/** The exit code of a check that was running when its container was stopped. */
const killedExitCode = 137;

/** Describes the last health check that came to its end; "" if it succeeded. */
function lastCheck(health: ContainerInfo["State"]["Health"]): string {
  const checks = health?.Log ?? [];
  const last = checks.findLast(({ ExitCode }) => ExitCode !== killedExitCode) ?? checks.at(-1);
  if (last === undefined || last.ExitCode === 0) return "";
  const output = cleanWords(last.Output, maxOutput).trim();
  return `the health check exits with ${last.ExitCode}${output === "" ? "" : `: ${output}`}`;
}

/** One that ran until its time was over was stopped by us. */
function gradeEnded(state: ContainerInfo["State"], limits: JudgeLimits): Verdict {
  const ranMs = Date.parse(state.FinishedAt) - Date.parse(state.StartedAt);
  if (ranMs >= limits.readyTimeoutMs) return notInTime(state);
  return failed("crash_loop", `exit code ${state.ExitCode}`);
}

function notInTime({ Health: health }: ContainerInfo["State"]): Verdict {
  const words = lastCheck(health);
  const why = words === "" ? "" : ` (${words})`;
  return failed("progress_deadline", `the container was not healthy in time${why}`);
}

function gradeRunning(
  { State: state }: Pick<ContainerInfo, "State">,
  limits: JudgeLimits,
): Verdict {
  const ranMs = limits.nowMs - Date.parse(state.StartedAt);
  if (runsWell({ State: state }) && ranMs >= limits.stableMs) return { status: "ready" };
  if (ranMs >= limits.readyTimeoutMs) return notInTime(state);
  return { status: "starting" };
}

/** True if it runs and its own health check, if it has one, succeeds. */
export function runsWell({ State: state }: Pick<ContainerInfo, "State">): boolean {
  if (!state.Running || state.Restarting) return false;
  return !["starting", "unhealthy"].includes(state.Health?.Status ?? "none");
}

/** The same, by the words of a list: `Up 2 minutes (healthy)`. */
export function isListedWell({ State, Status }: { State: string; Status: string }): boolean {
  return State === "running" && !/\((unhealthy|health: starting)\)/.test(Status);
}
