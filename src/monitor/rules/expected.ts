/** When the ping of a heartbeat is expected, and the words for one that is missing. Pure. */
import { formatDuration } from "#kernel/duration.ts";
import type { Heartbeat, HeartbeatState, Ping } from "#monitor/contract.ts";
import { owedAtMs } from "./occurrences.ts";

export type Schedule = Pick<Heartbeat, "periodSeconds" | "schedule" | "graceSeconds">;

/** The time of the last successful ping, or of the creation before the first; pings that are much earlier do not count. */
export function heardAtMs({ lastPingAtMs, createdAtMs }: HeartbeatState): number {
  return lastPingAtMs ?? createdAtMs;
}

/**
 * When a ping is expected: last ping (or creation, or the change to a period) + period, or the time of the cron
 * for which none came yet.
 */
export function expectedAtMs({ periodSeconds = 0, schedule }: Schedule, state: HeartbeatState) {
  const { settledMs = 0 } = state;
  if (schedule !== undefined) return owedAtMs(schedule, settledMs || heardAtMs(state));
  return Math.max(heardAtMs(state), settledMs) + periodSeconds * 1_000;
}

export const graceMsOf = ({ graceSeconds }: Pick<Heartbeat, "graceSeconds">) =>
  graceSeconds * 1_000;

export function describeFailure({ exitCode, reason }: Ping & { kind: "fail" }): string {
  if (reason !== undefined) return reason;
  const code = exitCode === null ? "" : ` (exit code ${exitCode})`;
  return `the job said that it failed${code}`;
}

export function describeAbsence(heartbeat: Heartbeat, state: HeartbeatState): string {
  const { lastPingAtMs, createdAtMs, startedAtMs, held } = state;
  const since =
    lastPingAtMs === null
      ? `never pinged since ${toSecond(createdAtMs)}`
      : `no ping since ${toSecond(lastPingAtMs)}`;
  const run =
    startedAtMs === null ? "" : `; a run that began ${toSecond(startedAtMs)} has not ended`;
  const away =
    held === null
      ? ""
      : `; the monitor was away ${toSecond(held.awayFromMs)} to ${toSecond(held.awayToMs)} and waited for the grace period again`;
  return `${since} (${describeSchedule(heartbeat, state)})${run}${away}`;
}

function describeSchedule(heartbeat: Heartbeat, state: HeartbeatState): string {
  const { periodSeconds = 0, schedule } = heartbeat;
  const grace = `grace ${formatDuration(graceMsOf(heartbeat))}`;
  if (schedule === undefined) return `period ${formatDuration(periodSeconds * 1_000)}, ${grace}`;
  const expected = toSecond(expectedAtMs(heartbeat, state));
  return `expected ${expected} by "${schedule.cron}" ${schedule.timezone}, ${grace}`;
}

/** ISO 8601 to the second. */
function toSecond(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
