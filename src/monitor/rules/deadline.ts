/** Heartbeats: when one is due, and what a ping or the lack of one changes. Pure; the time comes in. */
import type { RolloutMark } from "#alerts/contract.ts";
import { isAhead } from "#kernel/clock-fault.ts";
import { formatDuration } from "#kernel/duration.ts";
import type { CheckStatusName, Heartbeat, HeartbeatState, Ping, Quiet } from "#monitor/contract.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { type Decision, openAlert, resolve } from "#monitor/rules/verdict.ts";

/**
 * A deadline that passed without a ping, or a watch to be confirmed. `lastPingAtMs`: null: it never pinged.
 * `away`: the last span before it in which nobody listened for pings; null: there was none.
 */
export type OverdueHeartbeat = { id: string; lastPingAtMs: number | null; away: Absence | null };

export type PassedDeadlines = {
  overdue: OverdueHeartbeat[];
  atMs: number;
  /** Until then nobody else is told of them. */
  lease: Date;
};

/** A span in which nobody took pings, so that some may be lost. One that goes on ends now, so far. */
export type Absence = { fromMs: number; toMs: number; isOver: boolean };

/** From its creation on a heartbeat is waited for: one that never pings alerts too. */
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

/** `fromMs`: what counts in place of a time that lies ahead. */
export type Clock = { nowMs: number; fromMs: number };

/**
 * Without what was noted while a clock was ahead: a ping that is to come would keep every later one, and
 * the alert of its absence, waiting until then.
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
 * A run that said it began is to end within the grace, if that is earlier.
 */
export function dueAtMs(heartbeat: Heartbeat, state: HeartbeatState): number {
  if (state.held !== null) return state.held.untilMs;
  const { graceMs } = lengthsOf(heartbeat);
  const byPeriod = expectedAtMs(heartbeat, state) + graceMs;
  return state.startedAtMs === null ? byPeriod : Math.min(byPeriod, state.startedAtMs + graceMs);
}

/** When to look again with `expire`; null: only a ping can change something. */
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
 * The status to show: `late` is past the period and within the grace. `heardAtMs`: of the last ping, or since
 * when one is waited for.
 */
export function statusAt(
  heartbeat: Pick<Heartbeat, "periodSeconds" | "graceSeconds">,
  { status, heardAtMs: fromMs }: { status: CheckStatusName; heardAtMs: number },
  nowMs: number,
): CheckStatusName {
  if (status === "failed" || status === "paused") return status;
  return nowMs > fromMs + lengthsOf(heartbeat).periodMs ? "late" : status;
}

type Circumstances = { isQuiet: boolean; rollout: RolloutMark | null };

/** Of the last ping, or before which none counts. */
export function heardAtMs({ lastPingAtMs, createdAtMs }: HeartbeatState): number {
  return lastPingAtMs ?? createdAtMs;
}

/** What a ping changes. One older than the last success, or told twice, changes nothing. */
export function takePing(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  { ping, isQuiet, rollout }: Circumstances & { ping: Ping },
): Decision<HeartbeatState> {
  const isTold = ping.kind === "success" && ping.atMs === state.lastPingAtMs;
  if (isTold || ping.atMs < heardAtMs(state)) return { state, transition: null };
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
 * A ping that is heard of late may be of the run before the one that is under way. One that is only a little
 * older was taken where the clock is behind: left open, the run would alert.
 */
function endRun(state: HeartbeatState, atMs: number): HeartbeatState {
  const { startedAtMs } = state;
  if (startedAtMs === null || atMs < startedAtMs - clocksDifferMs) return state;
  return { ...state, startedAtMs: null, lastDurationMs: Math.max(0, atMs - startedAtMs) };
}

const clocksDifferMs = 2_000;

/**
 * What the passing of time changes. `away` is the last span before the deadline in which nobody took pings:
 * when one may have been lost in it, the grace period is waited for once more.
 */
export function expire(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  now: Circumstances & { nowMs: number; away: Absence | null },
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

/** Whether a deadline has passed of which nobody was told. */
export function canExpire(heartbeat: Heartbeat, state: HeartbeatState, nowMs: number): boolean {
  const isKnown = state.alert !== null || state.status === "failed";
  return !isKnown && nowMs >= dueAtMs(heartbeat, state);
}

/** How long nothing need be heard. */
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

type Failure = Circumstances & { atMs: number; reason: string };

function fail(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  { atMs, reason, isQuiet, rollout }: Failure,
): Decision<HeartbeatState> {
  const failed = withStatus(state, "failed", atMs);
  if (isQuiet || state.alert !== null) return { state: failed, transition: null };
  return openAlert(failed, { checkId: heartbeat.id, atMs, reason, locations: [], rollout });
}

type DeadlineLook = {
  dueMs: number;
  nowMs: number;
  away: Absence | null;
  before: HeartbeatState["held"];
};

/** However often it comes and goes, silence must not keep alerts back for ever. */
const mostHolds = 5;

/**
 * Until a whole grace period after pings were taken again, one that was lost may still come. A span that
 * ended a grace before the deadline lost none that was due: nothing is left to wait for then.
 */
function findHold(
  heartbeat: Heartbeat,
  { dueMs, nowMs, away, before }: DeadlineLook,
): HeartbeatState["held"] {
  if (away === null || away.fromMs > dueMs) return null;
  const { fromMs: awayFromMs, toMs: awayToMs } = away;
  // It goes on.
  if (!away.isOver && before?.awayFromMs === awayFromMs) return null;
  const times = before === null ? 1 : (before.times ?? 1) + 1;
  const untilMs = awayToMs + lengthsOf(heartbeat).graceMs;
  if (untilMs <= nowMs || times > mostHolds) return null;
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

/** ISO 8601 to the second, for people. */
function toSecond(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function withStatus(state: HeartbeatState, status: CheckStatusName, atMs: number): HeartbeatState {
  return status === state.status ? state : { ...state, status, sinceMs: atMs };
}
