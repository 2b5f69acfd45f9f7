/** Computes when a job is due: on a fixed grid of UTC time, so that a late run never delays the next one. */
import type { Notice, Topic } from "#alerts/contract.ts";

/** A grid point is `offsetMs + n * everyMs` after 1970-01-01T00:00Z. */
type Schedule = { everyMs: number; offsetMs: number };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export function everyMinutes(minutes: number): Schedule {
  return { everyMs: minutes * minuteMs, offsetMs: 0 };
}

/** Once a day at a full hour, UTC. */
export function dailyAt(hour: number): Schedule {
  return { everyMs: dayMs, offsetMs: hour * hourMs };
}

/** The first grid point after `afterMs`: missed ones are skipped. */
export function nextTick({ everyMs, offsetMs }: Schedule, afterMs: number): number {
  return (Math.floor((afterMs - offsetMs) / everyMs) + 1) * everyMs + offsetMs;
}

export function describeSchedule({ everyMs, offsetMs }: Schedule): string {
  if (everyMs === dayMs) {
    const hour = String(offsetMs / hourMs).padStart(2, "0");
    return `every day at ${hour}:00 UTC`;
  }
  const minutes = everyMs / minuteMs;
  if (!Number.isInteger(minutes)) return `every ${everyMs / 1_000} s`;
  return minutes === 1 ? "every minute" : `every ${minutes} minutes`;
}

export type Timer = { generation: number; dueAtMs: number; schedule: Schedule };

/** Returns if the timer is set correctly (`isArmed`), and else when it is due: now, if a run was missed. */
export function dueAfterStart(
  timer: Timer | null,
  { schedule, runsAtOnce, nowMs }: { schedule: Schedule; runsAtOnce?: true; nowMs: number },
): { isArmed: boolean; dueAtMs: number } {
  const next = nextTick(schedule, nowMs);
  if (timer === null && runsAtOnce) return { isArmed: false, dueAtMs: nowMs };
  if (timer === null || !isSame(timer.schedule, schedule)) return { isArmed: false, dueAtMs: next };
  // Missed while the program was down: one run makes up for it.
  if (timer.dueAtMs <= nowMs) return { isArmed: false, dueAtMs: nowMs };
  return { isArmed: !isTooFar(timer, schedule, nowMs), dueAtMs: next };
}

/** The maximal difference between the clocks of the processes that set timers. */
const clockSlackMs = 60_000;

/** The time by which a tick may come early when Restate's clock is ahead of ours. */
const longestEarlyMs = 600_000;

/** Due later than the grid allows: the timer was set by a clock that was ahead. */
function isTooFar({ dueAtMs }: Timer, schedule: Schedule, nowMs: number): boolean {
  const earlyMs = Math.min(schedule.everyMs, longestEarlyMs);
  return dueAtMs > nextTick(schedule, nowMs + clockSlackMs + earlyMs);
}

/** True if a timer has to be set again: it is missing, long overdue (it was killed), or due too late. */
export function isStuck(timer: Timer | null, schedule: Schedule, nowMs: number): boolean {
  if (timer === null || timer.dueAtMs + clockSlackMs < nowMs) return true;
  return isTooFar(timer, schedule, nowMs);
}

function isSame(one: Schedule, other: Schedule): boolean {
  return one.everyMs === other.everyMs && one.offsetMs === other.offsetMs;
}

// The definition of a job, independent of how it is run.

/** An exclusive handler of a virtual object, and the request for it. */
export type CallTarget = { service: string; key: string; handler: string; request: unknown };

export type JobRun = {
  runId: string;
  /** The start of the run, Unix milliseconds: later than its grid point if the program was down then. */
  nowMs: number;
  /** Runs a side effect and journals its result: after a crash only an unfinished step runs again, for `retryForMs`. */
  step: <T>(name: string, action: () => Promise<T>) => Promise<T>;
  /** Calls a handler of another service, and waits for its answer without a timeout. */
  call: <Answer>(target: CallTarget) => Promise<Answer>;
  /** Reads a value that an earlier run stored with `remember`; null: none. */
  recall: <T>(key: string) => Promise<T | null>;
  remember: <T>(key: string, value: T) => void;
  /** Sends a chat message, in order and at least once; does not wait for the delivery. */
  post: (topic: Topic, message: Notice) => void;
};

export type Job = {
  schedule: Schedule;
  /** The very first run starts at once instead of at the next grid point. */
  runsAtOnce?: true;
  /** The time for which a failing step is retried before the run fails. */
  retryForMs: number;
  /** Does the work and returns a summary of one line. */
  run: (run: JobRun) => Promise<string>;
};
