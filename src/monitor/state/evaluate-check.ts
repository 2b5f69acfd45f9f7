/** Decides an API check: its ticks, the reports of its locations, its alert. Pure; the time is Postgres'. */
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import type { Report } from "#monitor/internal.ts";
import { timeLimitMs } from "#monitor/probe/run-check.ts";
import { gridOf, isTick, isWithinReach, nextTick, planWake } from "#monitor/rules/grid.ts";
import { runsAt } from "#monitor/rules/locations.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { type DependencyState, stateOfCheck, withoutMarks } from "#monitor/rules/suppression.ts";
import { decide, openAlert } from "#monitor/rules/verdict.ts";
import {
  applyTransition,
  endAlert,
  followChannels,
  recordSuppression,
  removed,
} from "./alerting.ts";
import { withDependencies } from "./dependencies.ts";
import type { ApiRow, Decided, Moment, OpenRun } from "./row.ts";

export type CheckSettings = {
  /** The location of this program's own runs. */
  location: string;
  /** True in a process that makes runs; only such a one starts them. */
  runsHere: boolean;
  /** The percentage of a run's locations that must fail; 0: any. */
  failedAtPercent: number;
  /** The further locations whose reports a run waits for. */
  further: readonly string[];
};

type CheckInput = CheckSettings & {
  /** undefined: not defined any more. */
  check: ApiCheck | undefined;
  /** A check that lacks settings does not run. */
  isOff: boolean;
  reports: readonly Report[];
};

type Known = CheckInput & { check: ApiCheck };

/** May be called at any moment: does what is due by then, and nothing twice. */
export function evaluateCheck(
  id: string,
  before: ApiRow,
  input: CheckInput,
  moment: Moment,
): Decided<ApiRow> {
  const { check, isOff } = input;
  if (check === undefined) {
    const ended = endAlert(before, { id, endedBecause: removed }, moment);
    return { row: recordSuppression(stop(ended, moment), id, moment), wakeAtMs: null };
  }
  const followed = followChannels(before, check, moment);
  if (isOff) {
    // Settings and secrets come and go without a call.
    const wakeAtMs = moment.nowMs + 60_000;
    return { row: recordSuppression(stop(followed, moment), id, moment), wakeAtMs };
  }
  const known = { ...input, check };
  let row = startTimer(followed, check, moment.nowMs);
  for (const report of input.reports) row = takeReport(row, report, { known, moment });
  if (known.runsHere) row = tick(row, known, moment);
  row = closeRun(retryRun(row, known, moment), known, moment);
  row = recordSuppression(reconsider(row, known, moment), id, moment);
  return { row, wakeAtMs: wakeAtMs(row) };
}

function wakeAtMs({ timer, run, state }: ApiRow): number | null {
  const times = [timer?.dueMs, run?.closesAtMs, run?.retryAtMs, state.pendingAlert?.lookAtMs];
  const known = times.filter((atMs) => atMs != null);
  return known.length === 0 ? null : Math.min(...known);
}

/** A check that does not run: its last status must not look current. */
function stop(row: ApiRow, { nowMs }: Moment): ApiRow {
  const { state } = row;
  const isPaused = state.status === "paused";
  const paused = isPaused ? state : { ...state, status: "paused" as const, sinceMs: nowMs };
  return { ...row, state: withoutMarks(paused), timer: null, run: null, early: [] };
}

/** A timer that is due too late was set while the clock was ahead. */
function startTimer(row: ApiRow, check: ApiCheck, nowMs: number): ApiRow {
  const { timer } = row;
  const grid = gridOf(check);
  const isSame = timer?.grid.everyMs === grid.everyMs && timer.grid.offsetMs === grid.offsetMs;
  if (timer !== null && isSame && isWithinReach(grid, { dueMs: timer.dueMs, nowMs })) return row;
  return { ...row, timer: { grid, dueMs: nextTick(grid, nowMs) } };
}

function tick(row: ApiRow, known: Known, moment: Moment): ApiRow {
  const { nowMs, effects } = moment;
  const { timer } = row;
  if (timer === null || timer.dueMs > nowMs) return row;
  const { runAtMs, missed, nextMs } = planWake(timer.grid, { dueMs: timer.dueMs, nowMs });
  const next = { ...row, timer: { ...timer, dueMs: nextMs } };
  const { run } = row;
  const closed = run === null ? next : applyRun(next, { run, isClosed: true }, { known, moment });
  if (missed !== null) effects.missed.push({ checkId: known.check.id, ...missed });
  return runAtMs === null ? closed : startRun(closed, runAtMs, { known, moment });
}

/** The extra time, beyond the limit of a run, to wait for reports of further locations. */
const reportSlackMs = 5_000;

type At = { known: Known; moment: Moment };

function startRun(row: ApiRow, scheduledAtMs: number, at: At): ApiRow {
  const { check, location, further } = at.known;
  const { nowMs, effects } = at.moment;
  const others = further.filter((name) => name !== location && runsAt(check, name));
  const isHere = runsAt(check, location);
  const limitMs = timeLimitMs(check) + reportSlackMs;
  // From now on: one that starts late still has its whole time.
  const limitAtMs = nowMs + limitMs;
  // Made again later it would overlap the next one.
  const isAgain = isHere && others.length === 0 && limitAtMs + limitMs < (row.timer?.dueMs ?? 0);
  if (isHere) effects.probes.push({ check, scheduledAtMs });
  const run: OpenRun = {
    scheduledAtMs,
    expected: isHere ? [location, ...others] : others,
    results: row.early.filter((result) => result.scheduledAtMs === scheduledAtMs),
    // Without further locations the next tick closes it.
    closesAtMs: others.length > 0 ? limitAtMs : null,
    retryAtMs: isAgain ? limitAtMs : null,
  };
  const early = row.early.filter((result) => result.scheduledAtMs > scheduledAtMs);
  const started = { ...row, run, early };
  return run.results.length === 0 ? started : applyRun(started, { run }, at);
}

function takeReport(row: ApiRow, { scheduledAtMs, results }: Report, at: At): ApiRow {
  const { run } = row;
  // Recorded in any case; those of a run that has ended open no alert.
  at.moment.effects.results.push(...results);
  if (run?.scheduledAtMs !== scheduledAtMs) return keepEarly(row, { scheduledAtMs, results });
  return applyRun(row, { run: { ...run, results: withFirst(run.results, results) } }, at);
}

function withFirst(known: CheckResult[], given: CheckResult[]): CheckResult[] {
  const isNew = ({ location }: CheckResult) =>
    known.every((result) => result.location !== location);
  return [...known, ...given.filter(isNew)];
}

/** Enough for a tick or two of more locations than any installation has. */
const maxEarly = 200;

/** A further location that is quick, or whose clock is slightly ahead, reports before a busy worker begins the run. */
function keepEarly(row: ApiRow, { scheduledAtMs, results }: Report): ApiRow {
  const { timer, early } = row;
  if (timer === null || scheduledAtMs < timer.dueMs) return row;
  if (!isTick(timer.grid, scheduledAtMs)) return row;
  const isNew = (one: CheckResult) =>
    !early.some((two) => two.location === one.location && two.scheduledAtMs === scheduledAtMs);
  return { ...row, early: [...early, ...results.filter(isNew)].slice(0, maxEarly) };
}

/** A run whose report has not come is made once more. */
function retryRun(row: ApiRow, { check, location, runsHere }: Known, moment: Moment): ApiRow {
  const { run } = row;
  if (run === null || run.retryAtMs === null || run.retryAtMs > moment.nowMs || !runsHere)
    return row;
  if (run.results.every((result) => result.location !== location)) {
    moment.effects.probes.push({ check, scheduledAtMs: run.scheduledAtMs });
  }
  return { ...row, run: { ...run, retryAtMs: null } };
}

function closeRun(row: ApiRow, known: Known, moment: Moment): ApiRow {
  const { run } = row;
  if (run === null || run.closesAtMs === null || run.closesAtMs > moment.nowMs) return row;
  return applyRun(row, { run, isClosed: true }, { known, moment });
}

function isComplete({ expected, results }: OpenRun): boolean {
  return expected.every((name) => results.some(({ location }) => location === name));
}

type Reported = { run: OpenRun; isClosed?: boolean };

/** Decides by the reports so far. */
function applyRun(
  row: ApiRow,
  { run, isClosed = isComplete(run) }: Reported,
  { known: { check, location, failedAtPercent }, moment }: At,
): ApiRow {
  const { nowMs: atMs, effects } = moment;
  const { state: before } = row;
  const { id: checkId, failedRunThreshold } = check;
  const isQuiet = quietUntilMs(row.quiet, atMs) !== null;
  const opening = { check, before, isQuiet, atMs, runAtMs: run.scheduledAtMs };
  const { state, transition } = withDependencies(opening, moment, (how) =>
    decide(
      before,
      { ...run, isClosed, atMs },
      { checkId, failedRunThreshold, failedAtPercent, ...how },
    ),
  );
  // Its probe was killed, and no other one came in time.
  const isMissedHere =
    run.expected.includes(location) && run.results.every((one) => one.location !== location);
  if (isClosed && isMissedHere) {
    const { scheduledAtMs } = run;
    effects.missed.push({ checkId, fromMs: scheduledAtMs, toMs: scheduledAtMs, ticks: 1 });
  }
  const decided = { ...row, state, run: isClosed ? null : run };
  return applyTransition(decided, check, { transition, effects });
}

/** Opens the pending alert, unless what the check depends on fails, or may still turn out to. */
function reconsider(row: ApiRow, { check }: Known, moment: Moment): ApiRow {
  const { nowMs: atMs, effects } = moment;
  const { state: before } = row;
  const { pendingAlert: pending } = before;
  if (pending === null || before.alert !== null || pending.lookAtMs > atMs) return row;
  const { runAtMs, reason, locations } = pending;
  const isQuiet = quietUntilMs(row.quiet, atMs) !== null;
  const opening = { check, before, isQuiet, atMs, runAtMs };
  const { state, transition } = withDependencies(
    opening,
    moment,
    ({ isQuiet: isBarred, rollout }) =>
      isBarred
        ? { state: before, transition: null }
        : openAlert(before, { checkId: check.id, atMs, reason, locations, rollout }),
  );
  return applyTransition({ ...row, state }, check, { transition, effects });
}

/** Returns the state of a check for one whose run of `sinceMs` failed and that depends on it. */
export function dependencyOfCheck(
  { state, timer, run }: ApiRow,
  check: ApiCheck,
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): DependencyState {
  const now = {
    state,
    dueMs: timer?.dueMs ?? null,
    openRunMs: run?.scheduledAtMs ?? null,
    limitMs: timeLimitMs(check) + reportSlackMs,
  };
  return stateOfCheck(check, now, { sinceMs, nowMs });
}
