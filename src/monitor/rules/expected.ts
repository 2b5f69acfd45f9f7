/** When the ping of a heartbeat is expected, and the words for one that is missing. Pure. */
import { formatDuration } from "#kernel/duration.ts";
import { formatUtc } from "#kernel/time.ts";
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
      ? `never pinged since ${formatUtc(createdAtMs)}`
      : `no ping since ${formatUtc(lastPingAtMs)}`;
  const run =
    startedAtMs === null ? "" : `; a run that began ${formatUtc(startedAtMs)} has not ended`;
  const away =
    held === null
      ? ""
      : `; the monitor was away ${formatUtc(held.awayFromMs)} to ${formatUtc(held.awayToMs)} and waited for the grace period again`;
  return `${since} (${describeSchedule(heartbeat, state)})${run}${away}`;
}

function describeSchedule(heartbeat: Heartbeat, state: HeartbeatState): string {
  const { periodSeconds = 0, schedule } = heartbeat;
  const grace = `grace ${formatDuration(graceMsOf(heartbeat))}`;
  if (schedule === undefined) return `period ${formatDuration(periodSeconds * 1_000)}, ${grace}`;
  const expected = formatUtc(expectedAtMs(heartbeat, state));
  return `expected ${expected} by "${schedule.cron}" ${schedule.timezone}, ${grace}`;
}
