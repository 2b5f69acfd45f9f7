/** Heartbeats: when one is due, and what a ping or a missing one changes. Pure; time is a parameter. */
import { isDeepStrictEqual } from "node:util";
import type { RolloutMark } from "#alerts/contract.ts";
import type { CheckStatusName, Heartbeat, HeartbeatState, Ping, Quiet } from "#monitor/contract.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { askAgainAtMs } from "#monitor/rules/suppression.ts";
import { type Decision, openAlert, resolve } from "#monitor/rules/verdict.ts";
import {
  countMissed,
  describeAbsence,
  describeFailure,
  expectedAtMs,
  graceMsOf,
  heardAtMs,
  type Schedule,
  settledBy,
} from "./occurrences.ts";

/** A span in which no process took pings, so that some may be lost. If it is not over, `toMs` is now. */
export type Absence = { fromMs: number; toMs: number; isOver: boolean };

/** The first deadline counts from the creation: a heartbeat that never pings alerts too. */
export function newHeartbeatState(atMs: number): HeartbeatState {
  return {
    status: "pending",
    sinceMs: atMs,
    createdAtMs: atMs,
    lastPingAtMs: null,
    startedAtMs: null,
    lastDurationMs: null,
    held: null,
    episodes: 0,
    alert: null,
    suppressed: null,
    pendingAlert: null,
  };
}

/** The state after a change of the definition: nothing is owed of before, so that the change does not alert. */
export function reschedule(
  state: HeartbeatState,
  { before, after, nowMs }: { before: Schedule; after: Schedule; nowMs: number },
): HeartbeatState {
  const isByCron = before.schedule !== undefined || after.schedule !== undefined;
  const isSame =
    before.graceSeconds === after.graceSeconds &&
    isDeepStrictEqual(before.schedule, after.schedule);
  if (!isByCron || isSame) return state;
  return { ...state, settledMs: Math.max(state.settledMs ?? 0, nowMs) };
}

/**
 * Returns when the alert is due: the grace after the ping is expected (docs/monitoring.md, "A heartbeat"). A run that
 * sent `/start` has to end within the grace, if that is earlier.
 */
export function dueAtMs(heartbeat: Heartbeat, state: HeartbeatState): number {
  if (state.held !== null) return state.held.untilMs;
  const graceMs = graceMsOf(heartbeat);
  const dueMs = expectedAtMs(heartbeat, state) + graceMs;
  return state.startedAtMs === null ? dueMs : Math.min(dueMs, state.startedAtMs + graceMs);
}

/** Pings are written in groups, so far apart unless many wait: three writes for each would be most of the cost. */
export const pingPaceMs = 100;

/** A ping may wait this long until its group is written: a deadline that it met has not passed. */
const untilStoredMs = pingPaceMs + 20;

/** True if the deadline has passed, and every ping that met it is stored. */
export function hasExpired(heartbeat: Heartbeat, state: HeartbeatState, nowMs: number): boolean {
  return nowMs >= dueAtMs(heartbeat, state) + untilStoredMs;
}

/** The interval at which to look for what is not known yet: whether pings could be taken. */
const pollAgainMs = 1_000;

/** Returns when to decide next; null: only a ping can change the state. */
export function wakeAtMs(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  { quiet, nowMs, isDoubtful }: { quiet: Quiet; nowMs: number; isDoubtful: boolean },
): number | null {
  const { status, alert } = state;
  if (status === "paused") return null;
  const quietMs = quietUntilMs(quiet, nowMs);
  // At the end of quiet the alert follows its channels.
  if (alert !== null) return quietMs;
  if (status === "failed") {
    return Math.max(quietMs ?? nowMs + pollAgainMs, askAgainAtMs(state, nowMs));
  }
  const dueMs = dueAtMs(heartbeat, state) + untilStoredMs;
  // However often pings come that move no deadline, it is decided when it has passed.
  return dueMs > nowMs || !isDoubtful ? dueMs : nowMs + pollAgainMs;
}

/**
 * The status to show: `late` is past the time at which a ping was expected. `heardAtMs`: when the last ping came,
 * or before the first one the creation. `expectedAtMs`: by a cron.
 */
export function statusAt(
  { periodSeconds = 0, schedule }: Pick<Heartbeat, "periodSeconds" | "schedule">,
  heard: { status: CheckStatusName; heardAtMs: number; expectedAtMs?: number | undefined },
  nowMs: number,
): CheckStatusName {
  const { status, heardAtMs: fromMs } = heard;
  if (status === "failed" || status === "paused") return status;
  const byPeriodMs = schedule === undefined ? fromMs + periodSeconds * 1_000 : nowMs;
  const lateMs = (schedule && heard.expectedAtMs) ?? byPeriodMs;
  return nowMs > lateMs ? "late" : status;
}

type AlertContext = { isQuiet: boolean; rollout: RolloutMark | null };

/** Applies a ping. A duplicate, or a ping older than the last success, changes nothing. */
export function takePing(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  { ping: received, isQuiet, rollout }: AlertContext & { ping: Ping },
): Decision<HeartbeatState> {
  const ping = { ...received, atMs: countedAtMs(state, received) };
  const isDuplicate = ping.kind === "success" && ping.atMs === state.lastPingAtMs;
  if (isDuplicate || ping.atMs < heardAtMs(state)) return { state, transition: null };
  if (ping.kind === "start") {
    return { state: { ...state, startedAtMs: ping.atMs }, transition: null };
  }
  const ended = { ...endRun(state, ping.atMs), held: null };
  if (ping.kind === "success") {
    const startedAtMs = ended.startedAtMs === null ? state.startedAtMs : null;
    return succeed(heartbeat, ended, { startedAtMs, atMs: ping.atMs });
  }
  const reason = describeFailure(ping);
  return fail(heartbeat, ended, { atMs: ping.atMs, reason, isQuiet, rollout });
}

/** The longest time before the first state of the heartbeat at which the ping of a run still counts. */
const justBeforeMs = 60_000;

/** A job of our own may have run at once at the first start, just before its heartbeat had a state. */
function countedAtMs({ lastPingAtMs, createdAtMs }: HeartbeatState, { kind, atMs }: Ping): number {
  const isFirst = kind === "success" && lastPingAtMs === null;
  const isJustBefore = atMs < createdAtMs && createdAtMs - atMs <= justBeforeMs;
  return isFirst && isJustBefore ? createdAtMs : atMs;
}

/**
 * A delayed ping may belong to the run before the current one, and does not end that. A ping that is only
 * slightly older than the start comes from a process whose clock is behind, and does: else the run would
 * alert.
 */
function endRun(state: HeartbeatState, atMs: number): HeartbeatState {
  const { startedAtMs } = state;
  if (startedAtMs === null || atMs < startedAtMs - clockSkewMs) return state;
  return { ...state, startedAtMs: null, lastDurationMs: Math.max(0, atMs - startedAtMs) };
}

/** The maximal difference between the clocks of processes that take pings. */
export const clockSkewMs = 2_000;

/**
 * Applies a deadline that may have passed. `away` is the last absence before the deadline: if a ping may be
 * lost in it, the heartbeat is held for another grace period.
 */
export function expire(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  now: AlertContext & { nowMs: number; away: Absence | null },
): Decision<HeartbeatState> {
  const { nowMs, isQuiet, rollout } = now;
  const isFailed = state.status === "failed";
  const dueMs = dueAtMs(heartbeat, state);
  const isDue = isFailed || nowMs >= dueMs;
  if (state.alert !== null || !isDue) return { state, transition: null };
  const { away } = now;
  const held = isFailed ? null : findHold(heartbeat, { dueMs, nowMs, away, before: state.held });
  if (held !== null) return { state: { ...state, held }, transition: null };
  const known = state.pendingAlert ?? state.suppressed;
  if (known !== null) {
    return fail(heartbeat, state, { atMs: nowMs, reason: known.reason, isQuiet, rollout });
  }
  const reason =
    nowMs < dueMs
      ? "the job said that it failed while alerts were off"
      : describeAbsence(heartbeat, state);
  return fail(heartbeat, state, { atMs: nowMs, reason, isQuiet, rollout });
}

/** The state after the last success that came while it was not watched; null: there was none. */
export function withLastPing(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  lastPingAtMs: number | null,
): HeartbeatState {
  if (lastPingAtMs === null) return state;
  const ping = { kind: "success", atMs: lastPingAtMs } as const;
  return takePing(heartbeat, state, { ping, isQuiet: true, rollout: null }).state;
}

function succeed(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  { startedAtMs, atMs }: { startedAtMs: number | null; atMs: number },
): Decision<HeartbeatState> {
  const missedPings = state.alert === null ? 0 : missedBefore(heartbeat, state, atMs);
  const pinged = { ...withStatus(state, "ok", atMs), lastPingAtMs: atMs };
  const { schedule, graceSeconds } = heartbeat;
  const end = { checkId: heartbeat.id, atMs, missedPings };
  if (schedule === undefined) return resolve(pinged, end);
  const run = { startedAtMs, endedAtMs: atMs };
  const counted = settledBy({ ...schedule, graceSeconds }, run);
  const settledMs = Math.max(state.settledMs ?? heardAtMs(state), counted);
  return resolve({ ...pinged, settledMs }, end);
}

function missedBefore(
  { periodSeconds = 1, schedule }: Schedule,
  state: HeartbeatState,
  pingMs: number,
): number {
  const fromMs = heardAtMs(state);
  if (schedule === undefined) return Math.floor((pingMs - fromMs) / (periodSeconds * 1_000));
  return countMissed(schedule, { settledMs: state.settledMs ?? fromMs, pingMs });
}

type Failure = AlertContext & { atMs: number; reason: string };

function fail(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  { atMs, reason, isQuiet, rollout }: Failure,
): Decision<HeartbeatState> {
  const failed = withStatus(state, "failed", atMs);
  if (isQuiet || state.alert !== null) return { state: failed, transition: null };
  return openAlert(failed, { checkId: heartbeat.id, atMs, reason, locations: [], rollout });
}

type HoldInput = {
  dueMs: number;
  nowMs: number;
  away: Absence | null;
  before: HeartbeatState["held"];
};

/** The maximum of holds in a row: repeated absences must not suppress an alert for ever. */
const maxHolds = 5;

/**
 * A hold lasts one grace period from the end of the absence, since a job whose ping was lost may ping again
 * in that time. If that time has passed already, as after an absence that ended before the ping was expected,
 * there is no hold.
 */
function findHold(
  heartbeat: Heartbeat,
  { dueMs, nowMs, away, before }: HoldInput,
): HeartbeatState["held"] {
  if (away === null || away.fromMs > dueMs) return null;
  const { fromMs: awayFromMs, toMs: awayToMs } = away;
  // This absence has caused a hold already and has not ended.
  if (!away.isOver && before?.awayFromMs === awayFromMs) return null;
  const times = before === null ? 1 : before.times + 1;
  const untilMs = awayToMs + graceMsOf(heartbeat);
  if (untilMs <= nowMs || times > maxHolds) return null;
  return { untilMs, awayFromMs, awayToMs, times };
}

function withStatus(state: HeartbeatState, status: CheckStatusName, atMs: number): HeartbeatState {
  return status === state.status ? state : { ...state, status, sinceMs: atMs };
}
