/**
 * Decides if an alert opens although a dependency of the check fails, or may fail as well. Pure: the answers of the
 * dependencies are given; one that did not answer is left out and suppresses nothing.
 */
import { isAhead } from "#kernel/time.ts";
import type { ApiCheck, CheckState, OpenAlert } from "#monitor/contract.ts";
import type { PendingAlert, Suppression, SuppressionSpan } from "#monitor/related.ts";
import { type Grid, gridOf, nextTick } from "./grid.ts";

/** The state of a check, as given to those that depend on it. */
export type DependencyState = {
  isFailing: boolean;
  /** The time of the last change of its status. */
  sinceMs: number;
  /** The start of a run that shows if it failed with the asker; null: one is decided, or none will be. */
  nextRunMs: number | null;
  /** The latest time by which that run is decided. */
  decidesByMs: number | null;
};

export type Answer = DependencyState & { id: string };

/** The marks of a check's state. */
export type Marks = { suppressed: Suppression | null; pendingAlert: PendingAlert | null };

export type Barrier =
  | { kind: "none" }
  | { kind: "suppressed"; by: string }
  | { kind: "pending"; lookAtMs: number };

/** The longest time that an alert waits for what it depends on; a period of a minute and its run. */
export const longestPendingMs = 90_000;

/** The delay after the start of its run until a dependency is asked, and the interval after that. */
const runMs = 1_000;
const everyMs = 3_000;

/** `runAtMs`: the tick of the run that failed. */
export type Opening = { atMs: number; runAtMs: number };

/** Returns the barrier that keeps an alert from opening. */
export function evaluateOpening(
  { suppressed, pendingAlert }: Marks,
  { atMs, runAtMs }: Opening,
  answers: readonly Answer[],
): Barrier {
  const failing = answers.filter(({ isFailing }) => isFailing);
  const [first] = failing;
  if (first !== undefined) {
    const isSame = failing.some(({ id }) => id === suppressed?.by);
    return { kind: "suppressed", by: isSame && suppressed ? suppressed.by : first.id };
  }
  if (suppressed !== null) {
    const by = answers.find(({ id }) => id === suppressed.by);
    // A run that began before the other one had recovered says nothing of the time after.
    const isEarlier = by !== undefined && by.sinceMs > runAtMs && !isAhead(by.sinceMs, atMs);
    return isEarlier ? { kind: "suppressed", by: suppressed.by } : { kind: "none" };
  }
  const untilMs = Math.min(pendingAlert?.sinceMs ?? atMs, atMs) + longestPendingMs;
  const waits = answers.filter(
    ({ decidesByMs }) => decidesByMs !== null && decidesByMs > atMs && decidesByMs <= untilMs,
  );
  if (waits.length === 0) return { kind: "none" };
  const looks = waits.map(({ nextRunMs }) => Math.max((nextRunMs ?? 0) + runMs, atMs + everyMs));
  return { kind: "pending", lookAtMs: Math.min(...looks, untilMs) };
}

/** The interval at which a suppressed heartbeat asks if it still is: no run of its own makes it ask. */
const suppressedPollMs = 30_000;

/** Returns when to ask again; 0: there is nothing to ask. */
export function askAgainAtMs({ suppressed, pendingAlert }: Marks, nowMs: number): number {
  if (pendingAlert !== null) return pendingAlert.lookAtMs;
  return suppressed !== null ? nowMs + suppressedPollMs : 0;
}

export function withoutMarks<State extends Marks>(state: State): State {
  if (state.suppressed === null && state.pendingAlert === null) return state;
  return { ...state, suppressed: null, pendingAlert: null };
}

/** Returns the spans to record when `now` replaces `last`, which was recorded before. */
export function spansOfChange(
  { last, now }: { last: Suppression | null; now: Suppression | null },
  atMs: number,
): SuppressionSpan[] {
  if (last?.by === now?.by && last?.sinceMs === now?.sinceMs) return [];
  const ended = last && { ...last, untilMs: Math.max(last.sinceMs, now?.sinceMs ?? atMs) };
  return [...(ended ? [ended] : []), ...(now ? [{ ...now, untilMs: null }] : [])];
}

type Failure = Pick<OpenAlert, "reason" | "locations">;

/** The state with the mark of the barrier that kept its alert from opening. */
export function withBarrier<State extends Marks>(
  state: State,
  barrier: Barrier,
  { atMs, runAtMs, failure }: Opening & { failure: Failure },
): State {
  const { reason, locations } = failure;
  if (barrier.kind === "suppressed") {
    const { by } = barrier;
    const before = state.suppressed;
    const suppressed = before?.by === by ? before : { by, sinceMs: atMs, reason };
    return { ...state, suppressed, pendingAlert: null };
  }
  if (barrier.kind === "none") return withoutMarks(state);
  const { sinceMs = atMs, runAtMs: firstMs = runAtMs } = state.pendingAlert ?? {};
  const { lookAtMs } = barrier;
  return {
    ...state,
    suppressed: null,
    pendingAlert: { sinceMs, runAtMs: firstMs, lookAtMs, reason, locations },
  };
}

/** An API check that was not decided for so many periods says nothing any more. */
const periodsToStale = 3;

type CheckNow = {
  state: CheckState;
  /** The due time of its timer; null: it has none. */
  dueMs: number | null;
  /** The tick of the run that is not decided yet; null: there is none. */
  openRunMs: number | null;
  /** From a tick to the verdict, at most. */
  limitMs: number;
};

/** Returns the state of an API check for a check whose run of `sinceMs` failed and that depends on it. */
export function stateOfCheck(
  check: Pick<ApiCheck, "id" | "frequencySeconds">,
  { state, dueMs, openRunMs, limitMs }: CheckNow,
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): DependencyState {
  const { status, alert, decidedRunMs } = state;
  const grid = gridOf(check);
  const staleMs = periodsToStale * grid.everyMs + limitMs;
  const isStale = Math.abs(nowMs - (decidedRunMs ?? state.sinceMs)) > staleMs;
  // Silent with an open alert: it has not recovered.
  const hasFailed = status === "failed" || (status === "silent" && alert !== null);
  const isDecided = decidedRunMs !== null && decidedRunMs >= sinceMs;
  const nextRunMs = isDecided ? null : findRun(grid, { dueMs, openRunMs, sinceMs });
  return {
    isFailing: hasFailed && !isStale,
    sinceMs: state.sinceMs,
    nextRunMs,
    decidesByMs: nextRunMs === null ? null : nextRunMs + limitMs,
  };
}

type Runs = Pick<CheckNow, "dueMs" | "openRunMs"> & { sinceMs: number };

/** The first run that begins at `sinceMs` or later. */
function findRun(grid: Grid, { dueMs, openRunMs, sinceMs }: Runs): number | null {
  if (openRunMs !== null && openRunMs >= sinceMs) return openRunMs;
  if (dueMs === null) return null;
  return dueMs >= sinceMs ? dueMs : nextTick(grid, sinceMs - 1);
}
