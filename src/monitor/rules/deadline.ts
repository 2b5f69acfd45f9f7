/** Heartbeats: when one is due, and what a ping or a missing one changes. Pure; time is a parameter. */
import type { RolloutMark } from "#alerts/contract.ts";
import { isAhead } from "#kernel/clock-fault.ts";
import { formatDuration } from "#kernel/duration.ts";
import type { CheckStatusName, Heartbeat, HeartbeatState, Ping, Quiet } from "#monitor/contract.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { type Decision, openAlert, resolve } from "#monitor/rules/verdict.ts";

/**
 * A heartbeat whose deadline passed without a ping, or whose watch is to be confirmed. `lastPingAtMs` null:
 * it never pinged. `away`: the last absence before the deadline; null: there was none.
 */
export type OverdueHeartbeat = { id: string; lastPingAtMs: number | null; away: Absence | null };

export type PassedDeadlines = {
  overdue: OverdueHeartbeat[];
  atMs: number;
  /** Until then no other process handles them. */
  lease: Date;
};

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
  };
}

/** `fromMs`: replaces a time that is far ahead of `nowMs`. */
export type Clock = { nowMs: number; fromMs: number };

/**
 * Corrects times that were recorded while a clock was ahead: a ping in the future would otherwise suppress
 * all later ones, and the alert for missing ones, until then.
 */
export function setRight(state: HeartbeatState, { nowMs, fromMs }: Clock): HeartbeatState {
  const { createdAtMs, lastPingAtMs, startedAtMs, held } = state;
  const isWrong = (atMs: number | null | undefined) => atMs != null && isAhead(atMs, nowMs);
  if (![createdAtMs, lastPingAtMs, startedAtMs, held?.awayToMs].some(isWrong)) return state;
  return {
    ...state,
    createdAtMs: isWrong(createdAtMs) ? fromMs : createdAtMs,
    lastPingAtMs: isWrong(lastPingAtMs) ? fromMs : lastPingAtMs,
    startedAtMs: isWrong(startedAtMs) ? null : startedAtMs,
    held: isWrong(held?.awayToMs) ? null : held,
  };
}

/**
 * When the alert is due: last ping (or creation) + period + grace (docs/architecture.md, "Heartbeats").
 * A run that sent `/start` has to end within the grace, if that is earlier.
 */
export function dueAtMs(heartbeat: Heartbeat, state: HeartbeatState): number {
  if (state.held !== null) return state.held.untilMs;
  const { graceMs } = lengthsOf(heartbeat);
  const byPeriod = expectedAtMs(heartbeat, state) + graceMs;
  return state.startedAtMs === null ? byPeriod : Math.min(byPeriod, state.startedAtMs + graceMs);
}

/** When to call `expire` next; null: only a ping can change the state. */
export function wakeAtMs(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  { quiet, nowMs }: { quiet: Quiet; nowMs: number },
): number | null {
  if (state.alert !== null) return null;
  const isWrong = setRight(state, { nowMs, fromMs: nowMs }) !== state;
  const dueMs = isWrong || state.status === "failed" ? nowMs : dueAtMs(heartbeat, state);
  return dueMs > nowMs ? dueMs : (quietUntilMs(quiet, nowMs) ?? nowMs);
}

/**
 * The status to show: `late` is past the period and within the grace. `heardAtMs`: when the last ping came,
 * or before the first one the creation.
 */
export function statusAt(
  heartbeat: Pick<Heartbeat, "periodSeconds" | "graceSeconds">,
  { status, heardAtMs: fromMs }: { status: CheckStatusName; heardAtMs: number },
  nowMs: number,
): CheckStatusName {
  if (status === "failed" || status === "paused") return status;
  return nowMs > fromMs + lengthsOf(heartbeat).periodMs ? "late" : status;
}

type AlertContext = { isQuiet: boolean; rollout: RolloutMark | null };

/** The time of the last successful ping, or of the creation before the first; earlier pings do not count. */
export function heardAtMs({ lastPingAtMs, createdAtMs }: HeartbeatState): number {
  return lastPingAtMs ?? createdAtMs;
}

/** Applies a ping. A duplicate, or a ping older than the last success, changes nothing. */
export function takePing(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  { ping, isQuiet, rollout }: AlertContext & { ping: Ping },
): Decision<HeartbeatState> {
  const isDuplicate = ping.kind === "success" && ping.atMs === state.lastPingAtMs;
  if (isDuplicate || ping.atMs < heardAtMs(state)) return { state, transition: null };
  if (ping.kind === "start") {
    return { state: { ...state, startedAtMs: ping.atMs }, transition: null };
  }
  const ended = { ...endRun(state, ping.atMs), held: null };
  if (ping.kind === "success") return succeed(heartbeat, ended, ping.atMs);
  const code = ping.exitCode === null ? "" : ` (exit code ${ping.exitCode})`;
  const reason = `the job said that it failed${code}`;
  return fail(heartbeat, ended, { atMs: ping.atMs, reason, isQuiet, rollout });
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

/** How far the clocks of the processes that take pings may differ. */
const clockSkewMs = 2_000;

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
  const reason =
    nowMs < dueMs
      ? "the job said that it failed while alerts were off"
      : describeAbsence(heartbeat, state);
  return fail(heartbeat, state, { atMs: nowMs, reason, isQuiet, rollout });
}

/** Whether a deadline has passed that the state does not show yet. */
export function canExpire(heartbeat: Heartbeat, state: HeartbeatState, nowMs: number): boolean {
  const isKnown = state.alert !== null || state.status === "failed";
  return !isKnown && nowMs >= dueAtMs(heartbeat, state);
}

/** The longest allowed time between two pings: period + grace. */
export function allowanceMs(heartbeat: Heartbeat): number {
  const { periodMs, graceMs } = lengthsOf(heartbeat);
  return periodMs + graceMs;
}

function lengthsOf({
  periodSeconds,
  graceSeconds,
}: Pick<Heartbeat, "periodSeconds" | "graceSeconds">) {
  return { periodMs: periodSeconds * 1_000, graceMs: graceSeconds * 1_000 };
}

function expectedAtMs(heartbeat: Heartbeat, state: HeartbeatState): number {
  return heardAtMs(state) + lengthsOf(heartbeat).periodMs;
}

function succeed(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  atMs: number,
): Decision<HeartbeatState> {
  const silentMs = atMs - heardAtMs(state);
  const missedPings = Math.floor(silentMs / lengthsOf(heartbeat).periodMs);
  const pinged = { ...withStatus(state, "ok", atMs), lastPingAtMs: atMs };
  return resolve(pinged, { checkId: heartbeat.id, atMs, missedPings });
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
  const times = before === null ? 1 : (before.times ?? 1) + 1;
  const untilMs = awayToMs + lengthsOf(heartbeat).graceMs;
  if (untilMs <= nowMs || times > maxHolds) return null;
  return { untilMs, awayFromMs, awayToMs, times };
}

function describeAbsence(heartbeat: Heartbeat, state: HeartbeatState): string {
  const { periodMs, graceMs } = lengthsOf(heartbeat);
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
  const lengths = `period ${formatDuration(periodMs)}, grace ${formatDuration(graceMs)}`;
  return `${since} (${lengths})${run}${away}`;
}

/** ISO 8601 to the second. */
function toSecond(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function withStatus(state: HeartbeatState, status: CheckStatusName, atMs: number): HeartbeatState {
  return status === state.status ? state : { ...state, status, sinceMs: atMs };
}
