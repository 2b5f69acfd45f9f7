/** Computes when a ping is expected, which time of a cron it counts for, and the words for a missing one. Pure. */
import { type CronTimes, countTimes, timeAfter, timeUpTo } from "#kernel/cron-times.ts";
import { formatDuration, formatUtc } from "#kernel/time.ts";
import type { CronSchedule, Heartbeat, HeartbeatState, Ping } from "#monitor/contract.ts";

/** The part of a heartbeat that its times and windows depend on. */
export type Occurrences = CronSchedule & { graceSeconds: number };

/** The last instant that a date of four digits can express: an expression that never comes is refused before. */
const neverMs = Date.UTC(9999, 11, 31);

/** The first time after `settledMs`, for which a ping has to come. */
export function owedAtMs(schedule: CronSchedule, settledMs: number): number {
  return timeAfter(timesOf(schedule), settledMs) ?? neverMs;
}

/**
 * The time that a ping counts for: the last one whose window has begun. With it all earlier ones are settled,
 * which were pinged for, or for which an alert was due. null: no time is as early.
 */
export function occurrenceOf(schedule: CronSchedule, pingMs: number): number | null {
  const times = timesOf(schedule);
  const next = timeAfter(times, pingMs);
  const last = timeUpTo(times, pingMs);
  if (next !== null && pingMs >= next - earlyMs(schedule, next - (last ?? 0))) return next;
  return last;
}

/**
 * Up to which time all is settled after a success. A run that said when it began counts for the time at which it
 * began; but a time whose window has ended before the success needs no further ping, as it alerted or was held.
 */
export function settledBy(
  schedule: Occurrences,
  { startedAtMs, endedAtMs }: { startedAtMs: number | null; endedAtMs: number },
): number {
  const counted = occurrenceOf(schedule, startedAtMs ?? endedAtMs) ?? 0;
  if (startedAtMs === null) return counted;
  const ended = timeUpTo(timesOf(schedule), endedAtMs - schedule.graceSeconds * 1_000 - 1) ?? 0;
  return Math.max(counted, ended);
}

/** Counting thousands of times would hold up everything else. */
const mostMissed = 1_000;

/** The times after `settledMs` that no ping came for, when one comes at `pingMs`; 1000 at most. */
export function countMissed(
  schedule: CronSchedule,
  { settledMs, pingMs }: { settledMs: number; pingMs: number },
): number {
  const toMs = (occurrenceOf(schedule, pingMs) ?? 0) - 1;
  return countTimes(timesOf(schedule), { fromMs: settledMs, toMs, most: mostMissed });
}

/** Returns the longest time that a ping may come early: after one has settled a time, that is so far ahead. */
export function longestEarlyMs({ earlySeconds }: CronSchedule): number {
  return (earlySeconds ?? defaultEarlySeconds) * 1_000;
}

const defaultEarlySeconds = 60;

/** Never more than half of the time since the one before, for which a late ping may still come. */
function earlyMs({ earlySeconds }: CronSchedule, gapMs: number): number {
  if (earlySeconds === undefined) return Math.min(defaultEarlySeconds * 1_000, gapMs / 4);
  return Math.min(earlySeconds * 1_000, gapMs / 2);
}

function timesOf({ cron: expression, timezone, dialect }: CronSchedule): CronTimes {
  return { expression, timezone, dialect };
}

export type Schedule = Pick<Heartbeat, "periodSeconds" | "schedule" | "graceSeconds">;

/** The time of the last successful ping, or of the creation before the first; pings that are much earlier do not count. */
export function heardAtMs({ lastPingAtMs, createdAtMs }: HeartbeatState): number {
  return lastPingAtMs ?? createdAtMs;
}

/**
 * Returns when a ping is expected: last ping (or creation, or the change to a period) + period, or the time of the cron
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
