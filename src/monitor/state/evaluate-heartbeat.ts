/** Decides a heartbeat: its pings, its deadline, its alert. Pure; the time is Postgres'. */
import { isAhead } from "#kernel/time.ts";
import type { CheckResult, Heartbeat, HeartbeatState, Ping } from "#monitor/contract.ts";
import { noPhases } from "#monitor/kinds/observe.ts";
import { type Absences, findAway } from "#monitor/rules/absences.ts";
import {
  type Absence,
  clockSkewMs,
  dueAtMs,
  expire,
  hasExpired,
  newHeartbeatState,
  reschedule,
  takePing,
  wakeAtMs,
  withLastPing,
} from "#monitor/rules/deadline.ts";
import { describeFailure, heardAtMs, longestEarlyMs } from "#monitor/rules/occurrences.ts";
import { isJobOff, isPingedByUs } from "#monitor/rules/own-jobs.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { type DependencyState, withoutMarks } from "#monitor/rules/suppression.ts";
import {
  applyTransition,
  endAlert,
  followChannels,
  recordSuppression,
  removed,
} from "./alerting.ts";
import { withDependencies } from "./dependencies.ts";
import type { Decided, HeartbeatRow, Moment } from "./row.ts";

export type HeartbeatInput = {
  /** undefined: not defined any more. */
  heartbeat: Heartbeat | undefined;
  /** The pings that wait to be decided, in order. */
  pings: readonly Ping[];
  /** The last success that came while the heartbeat was not watched, and was recorded; null: none. */
  lastPingAtMs: number | null;
  /** True if somebody has a ping URL of it. */
  hasUrl: boolean;
  /** null: not read, so that no deadline is decided now. */
  absences: Absences | null;
};

type Known = Omit<HeartbeatInput, "heartbeat"> & { heartbeat: Heartbeat };
type ActiveRow = HeartbeatRow & { state: HeartbeatState };
type At = { known: Known; moment: Moment };

/** May be called at any moment: does what is due by then, and nothing twice. */
export function evaluateHeartbeat(
  id: string,
  before: HeartbeatRow,
  { heartbeat, ...input }: HeartbeatInput,
  moment: Moment,
): Decided<HeartbeatRow> {
  if (heartbeat === undefined) {
    const ended = endAlert(before, { id, endedBecause: removed }, moment);
    const state = ended.state && withoutMarks(ended.state);
    return { row: recordSuppression({ ...ended, state }, id, moment), wakeAtMs: null };
  }
  const at = { known: { ...input, heartbeat }, moment };
  let row = followJob(redefine(followChannels(before, heartbeat, moment), at), at);
  if (isActive(row)) row = passDeadline(takePings(row, at), at);
  row = recordSuppression(row, id, moment);
  const { state, quiet } = row;
  const now = { quiet, nowMs: moment.nowMs, isDoubtful: input.absences?.isDoubtful ?? false };
  return { row, wakeAtMs: state && wakeAtMs(heartbeat, state, now) };
}

function isActive(row: HeartbeatRow): row is ActiveRow {
  return row.state !== null && row.state.status !== "paused";
}

/** Nothing is owed of the time before a schedule by cron changed. */
function redefine(row: HeartbeatRow, { known: { heartbeat: after }, moment }: At): HeartbeatRow {
  const { state, defined: before } = row;
  if (state === null || before === null) return row;
  return { ...row, state: reschedule(state, { before, after, nowMs: moment.nowMs }) };
}

/** Pauses a heartbeat that nobody pings: its job is off, or it was a job's or a drill and is none now. Goes on later. */
function followJob(row: HeartbeatRow, at: At): HeartbeatRow {
  const { heartbeat, hasUrl, pings } = at.known;
  const { nowMs } = at.moment;
  const { id } = heartbeat;
  const defined = definedBy(heartbeat);
  // Episodes count on: their number is in the ids of the events.
  const begin = (fromMs: number) => ({
    ...newHeartbeatState(fromMs),
    episodes: row.state?.episodes ?? 0,
  });
  if (hasUrl || isPingedByUs(heartbeat)) {
    const state = isActive(row) ? row.state : begin(pings[0]?.atMs ?? nowMs);
    return { ...row, state, defined };
  }
  if (!isActive(row) && (row.state !== null || !isJobOff(heartbeat))) return row;
  const endedBecause = row.defined?.isDrill
    ? "it is no drill any more"
    : "the job that pings it is off";
  const ended = endAlert(row, { id, endedBecause }, at.moment);
  return { ...ended, state: { ...begin(nowMs), status: "paused" }, defined };
}

/** Without fields that are undefined: rows are compared with those that were read. */
function definedBy({ periodSeconds, schedule, graceSeconds, job, drill }: Heartbeat) {
  return {
    ...(periodSeconds !== undefined && { periodSeconds }),
    ...(schedule !== undefined && { schedule }),
    ...(job !== undefined && { job }),
    graceSeconds,
    isDrill: drill !== undefined,
  };
}

/** Takes the last success of the time without a watch, which was recorded already, and then the pings that wait. */
function takePings(before: ActiveRow, at: At): ActiveRow {
  const { heartbeat, lastPingAtMs, pings } = at.known;
  const { nowMs } = at.moment;
  const heardMs = heardAtMs(before.state);
  const isNews = lastPingAtMs !== null && lastPingAtMs > (isAhead(heardMs, nowMs) ? 0 : heardMs);
  const last: Ping[] = isNews ? [{ kind: "success", atMs: lastPingAtMs }] : [];
  const all = [...last, ...pings].map((ping) => ({ ...ping, atMs: soonest(ping.atMs, nowMs) }));
  // A time that lies ahead is replaced by one just before the first ping, so that this counts.
  const [first] = all;
  const fromMs = first === undefined ? nowMs : first.atMs - 1;
  let row = { ...before, state: setRight(heartbeat, before.state, { nowMs, fromMs }) };
  for (const given of all) {
    const ping = inOrder(given, row.state);
    if (given !== first || !isNews) {
      at.moment.effects.results.push(...resultsOf(heartbeat, ping, row.state));
    }
    row = decide(row, { runAtMs: ping.atMs, at }, (how) =>
      takePing(heartbeat, row.state, { ping, ...how }),
    );
  }
  return row;
}

/** The order of pings is known: one of a clock that is slightly behind must not look older than the success before. */
function inOrder(ping: Ping, state: HeartbeatState): Ping {
  const heardMs = heardAtMs(state);
  const isBehind = ping.atMs < heardMs && heardMs - ping.atMs <= clockSkewMs;
  return isBehind && ping.kind !== "success" ? { ...ping, atMs: heardMs } : ping;
}

/** A ping of a wrong clock counts as one of now. */
function soonest(atMs: number, nowMs: number): number {
  return isAhead(atMs, nowMs) ? nowMs : atMs;
}

/** A failure that one of the pings reported is not evaluated a second time. */
function passDeadline(row: ActiveRow, at: At): ActiveRow {
  const { state } = row;
  const { heartbeat, absences, pings } = at.known;
  if (state.status === "failed") {
    return pings.some(({ kind }) => kind === "fail") ? row : passAt(row, null, at);
  }
  if (absences === null || absences.isDoubtful) return row;
  if (!hasExpired(heartbeat, state, at.moment.nowMs)) return row;
  return passAt(row, findAway(absences.spans, dueAtMs(heartbeat, state)), at);
}

function passAt(row: ActiveRow, away: Absence | null, at: At): ActiveRow {
  const { nowMs } = at.moment;
  return decide(row, { runAtMs: nowMs, at }, (how) =>
    expire(at.known.heartbeat, row.state, { nowMs, away, ...how }),
  );
}

type Decide = Parameters<typeof withDependencies<HeartbeatState>>[2];

function decide(
  row: ActiveRow,
  { runAtMs, at: { known, moment } }: { runAtMs: number; at: At },
  decideBy: Decide,
): ActiveRow {
  const { heartbeat: check } = known;
  const { nowMs: atMs, effects } = moment;
  const isQuiet = quietUntilMs(row.quiet, atMs) !== null;
  const opening = { check, before: row.state, isQuiet, atMs, runAtMs };
  const { state, transition } = withDependencies(opening, moment, decideBy);
  return applyTransition({ ...row, state }, check, { transition, effects });
}

/** A start has no result. A run has a duration only if it sent a start. */
function resultsOf(
  heartbeat: Heartbeat,
  received: Ping,
  { startedAtMs }: HeartbeatState,
): CheckResult[] {
  if (received.kind === "start") return [];
  const isOk = received.kind === "success";
  return [
    {
      checkId: heartbeat.id,
      location: "ping",
      scheduledAtMs: received.atMs,
      startedAtMs: received.atMs,
      grade: isOk ? "ok" : "failed",
      cause: isOk ? null : "error",
      durationMs: startedAtMs === null ? 0 : Math.max(0, received.atMs - startedAtMs),
      phases: noPhases,
      status: null,
      reason: isOk ? null : describeFailure(received),
      tlsDaysLeft: null,
    },
  ];
}

/** True unless a success can only move the deadline, so that it need not be decided. */
export function isWatched({ state }: HeartbeatRow): boolean {
  if (state === null) return true;
  const { status, alert, startedAtMs, held } = state;
  return status !== "ok" || alert !== null || startedAtMs !== null || held !== null;
}

/** From a deadline to the decision about it, at most. */
const decisionMs = 5_000;

/** Returns the state of a heartbeat for a check that depends on it. While its job is off it suppresses nothing. */
export function dependencyOfHeartbeat(
  row: HeartbeatRow,
  heartbeat: Heartbeat | undefined,
  lastPingAtMs: number | null,
): DependencyState {
  const none = { nextRunMs: null, decidesByMs: null };
  if (heartbeat === undefined || !isActive(row)) return { isFailing: false, sinceMs: 0, ...none };
  const { status, sinceMs } = row.state;
  if (status === "failed") return { isFailing: true, sinceMs, ...none };
  const nextRunMs = dueAtMs(heartbeat, withLastPing(heartbeat, row.state, lastPingAtMs));
  return { isFailing: false, sinceMs, nextRunMs, decidesByMs: nextRunMs + decisionMs };
}

/** `fromMs`: replaces a time that is far ahead of `nowMs`. */
type Clock = { nowMs: number; fromMs: number };

/**
 * Corrects times that were recorded while a clock was ahead: a ping in the future would otherwise suppress
 * all later ones, and the alert for missing ones, until then.
 */
export function setRight(
  { schedule }: Pick<Heartbeat, "schedule">,
  state: HeartbeatState,
  { nowMs, fromMs }: Clock,
): HeartbeatState {
  const { createdAtMs, lastPingAtMs, startedAtMs, settledMs, held } = state;
  const isWrong = (atMs: number | null | undefined) => atMs != null && isAhead(atMs, nowMs);
  const earlyMs = schedule === undefined ? 0 : longestEarlyMs(schedule);
  const isUnsettled = settledMs !== undefined && isWrong(settledMs - earlyMs);
  const times = [createdAtMs, lastPingAtMs, startedAtMs, held?.awayToMs];
  if (!isUnsettled && !times.some(isWrong)) return state;
  return {
    ...state,
    ...(isUnsettled && { settledMs: fromMs }),
    createdAtMs: isWrong(createdAtMs) ? fromMs : createdAtMs,
    lastPingAtMs: isWrong(lastPingAtMs) ? fromMs : lastPingAtMs,
    startedAtMs: isWrong(startedAtMs) ? null : startedAtMs,
    held: isWrong(held?.awayToMs) ? null : held,
  };
}
