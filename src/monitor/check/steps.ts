/** The steps of the object of an API check: it ticks, takes reports and decides. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { after } from "#kernel/restate.ts";
import type { ApiCheck, CheckResult, CheckState } from "#monitor/contract.ts";
import { apiCheckObject, checkProbe, type Report } from "#monitor/internal.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { timeLimitMs } from "#monitor/probe/run-check.ts";
import {
  type Grid,
  gridOf,
  isWithinReach,
  type MissedRuns,
  nextTick,
  planWake,
} from "#monitor/rules/grid.ts";
import { runsAt } from "#monitor/rules/locations.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { withoutMarks } from "#monitor/rules/suppression.ts";
import { decide } from "#monitor/rules/verdict.ts";
import { endAlert, followChannels, removed } from "#monitor/transitions/end-alert.ts";
import {
  nextTakenAtMs,
  record,
  recordAtOnce,
  type StateEntry,
  sendToChannels,
  toEntry,
} from "#monitor/transitions/hand-over.ts";
import { withDependencies } from "#monitor/transitions/with-dependencies.ts";
import type { CheckParts } from "./parts.ts";
import {
  clearEarly,
  clearRun,
  type OpenRun,
  pollAgain,
  pollTimers,
  readRun,
  readState,
  storeEarly,
  type Timer,
  takeEarly,
  timers,
  writeRun,
  writeState,
} from "./state.ts";

/** Starts the timer if it is not running. Called when a worker starts. */
export async function ensure(
  ctx: ObjectContext,
  check: ApiCheck,
  parts: CheckParts,
): Promise<null> {
  await followChannels(ctx, check, stateAccess(ctx));
  if (parts.whyOff(check).length > 0) return pause(ctx);
  const grid = gridOf(check);
  const timer = await timers.read(ctx);
  const nowMs = await ctx.date.now();
  const isSame = timer?.grid.everyMs === grid.everyMs && timer.grid.offsetMs === grid.offsetMs;
  if (timer === null || !isSame || !isWithinReach(grid, { dueMs: timer.dueMs, nowMs })) {
    arm(ctx, { grid, dueMs: nextTick(grid, nowMs), nowMs }, timer);
  } else if (timer.dueMs + overdueMs < nowMs) {
    // Its timer was killed, or its call is still queued: that call will then find the work done.
    await wake(ctx, { check, timer }, parts);
  }
  return null;
}

const overdueMs = 2_000;

export async function tick(
  ctx: ObjectContext,
  { check, generation }: { check: ApiCheck; generation: number },
  parts: CheckParts,
): Promise<null> {
  const timer = await timers.readCurrent(ctx, generation);
  if (timer === null) return null;
  if (parts.whyOff(check).length > 0) return pause(ctx);
  await wake(ctx, { check, timer }, parts);
  return null;
}

async function wake(
  ctx: ObjectContext,
  { check, timer }: { check: ApiCheck; timer: Timer },
  parts: CheckParts,
): Promise<void> {
  const { grid, dueMs } = timer;
  // One journal step instead of two: each costs a round trip for every run of every check.
  const { nowMs, further } = await ctx.run("look-around", async () => ({
    further: await parts.runners.expected(),
    // Read last, because the query above may take long.
    nowMs: Date.now(),
  }));
  const { runAtMs, missed, nextMs } = planWake(grid, { dueMs, nowMs });
  arm(ctx, { grid, dueMs: nextMs, nowMs }, timer);
  const run = await readRun(ctx);
  if (run !== null) await applyReports(ctx, { check, run, isClosed: true, atMs: nowMs }, parts);
  if (missed !== null) record(ctx, check.id, { missed });
  if (runAtMs !== null) await startRun(ctx, { check, runAtMs, nowMs, further }, parts);
}

function arm(
  ctx: ObjectContext,
  { grid, dueMs, nowMs }: { grid: Grid; dueMs: number; nowMs: number },
  before: Timer | null,
): void {
  timers.set(ctx, { before, dueMs, grid }, (generation) =>
    ctx.sendClient(apiCheckObject, ctx.key).tick({ generation }, after(dueMs - nowMs)),
  );
}

/** The extra time, beyond the limit of a run, to wait for reports of further locations. */
export const reportSlackMs = 5_000;

type RunStart = { check: ApiCheck; runAtMs: number; nowMs: number; further: readonly string[] };

async function startRun(
  ctx: ObjectContext,
  { check, runAtMs, nowMs, further }: RunStart,
  parts: CheckParts,
): Promise<void> {
  const { location } = parts;
  const others = further.filter((name) => name !== location && runsAt(check, name));
  const here = runsAt(check, location) ? [location] : [];
  const results = await takeEarly(ctx, runAtMs);
  const run = { scheduledAtMs: runAtMs, expected: [...here, ...others], results };
  writeRun(ctx, run);
  const order = { scheduledAtMs: runAtMs };
  if (here.length > 0) ctx.sendClient(checkProbe, check.id).run(order);
  // Without further locations no timer is needed: the next tick closes a run that is still open.
  if (others.length > 0) {
    const delayMs = runAtMs + timeLimitMs(check) + reportSlackMs - nowMs;
    ctx.sendClient(apiCheckObject, ctx.key).close(order, after(delayMs));
  }
  if (results.length === 0) return;
  await applyReports(ctx, { check, run, isClosed: isComplete(run), atMs: nowMs }, parts);
}

function isComplete({ expected, results }: OpenRun): boolean {
  return expected.every((name) => results.some(({ location }) => location === name));
}

export async function report(
  ctx: ObjectContext,
  { check, given }: { check: ApiCheck; given: Report },
  parts: CheckParts,
): Promise<null> {
  const open = await readRun(ctx);
  if (open?.scheduledAtMs !== given.scheduledAtMs) {
    // The run has ended or not begun. The results are recorded; those of an ended run open no alert.
    await storeEarly(ctx, given);
    record(ctx, check.id, { results: given.results });
    return null;
  }
  const run = { ...open, results: withFirst(open.results, given.results) };
  await applyReports(ctx, { check, run, isClosed: isComplete(run), atMs: given.atMs }, parts);
  return null;
}

function withFirst(known: CheckResult[], given: CheckResult[]): CheckResult[] {
  const isNew = ({ location }: CheckResult) =>
    known.every((result) => result.location !== location);
  return [...known, ...given.filter(isNew)];
}

export async function close(
  ctx: ObjectContext,
  { check, scheduledAtMs }: { check: ApiCheck; scheduledAtMs: number },
  parts: CheckParts,
): Promise<null> {
  const run = await readRun(ctx);
  if (run?.scheduledAtMs !== scheduledAtMs) return null;
  const atMs = await ctx.date.now();
  await applyReports(ctx, { check, run, isClosed: true, atMs }, parts);
  return null;
}

type RunReports = { check: ApiCheck; run: OpenRun; isClosed: boolean; atMs: number };

/** Decides by the reports so far; commits state, event and records together. */
async function applyReports(
  ctx: ObjectContext,
  { check, run, isClosed, atMs }: RunReports,
  parts: CheckParts,
): Promise<void> {
  await followChannels(ctx, check, stateAccess(ctx));
  const before = await readState(ctx, atMs);
  const isQuiet = quietUntilMs(await readQuiet(ctx), atMs) !== null;
  const { failedRunThreshold } = check;
  const { failedAtPercent } = parts;
  const opening = { check, before, isQuiet, atMs, runAtMs: run.scheduledAtMs };
  const { state, transition } = await withDependencies(ctx, opening, {
    readRollout: parts.readRollout,
    decide: (how) =>
      decide(
        before,
        { ...run, isClosed, atMs },
        { checkId: check.id, failedRunThreshold, failedAtPercent, ...how },
      ),
  });
  writeState(ctx, state);
  await pollAgain(ctx, state, atMs);
  if (isClosed) clearRun(ctx);
  else writeRun(ctx, run);
  if (transition !== null) await sendToChannels(ctx, check, transition);
  const entry = {
    results: run.results,
    ...(await toCheckEntry(ctx, atMs)),
    ...(isClosed && isMissedHere(run, parts) && { missed: oneTick(run) }),
  };
  if (transition === null) await recordAtOnce(ctx, parts.recorder, check.id, entry);
  else record(ctx, check.id, { ...entry, transition });
}

/** True if the run has no result of this location: its probe was killed and did not recover in time. */
function isMissedHere({ expected, results }: OpenRun, { location }: CheckParts): boolean {
  return expected.includes(location) && results.every((result) => result.location !== location);
}

function oneTick({ scheduledAtMs }: OpenRun): MissedRuns {
  return { fromMs: scheduledAtMs, toMs: scheduledAtMs, ticks: 1 };
}

/** The check is no longer defined: ends its alert and its timer. */
export async function retire(ctx: ObjectContext): Promise<null> {
  await endAlert(ctx, removed, stateAccess(ctx));
  return pause(ctx);
}

function stateAccess(ctx: ObjectContext) {
  return {
    read: () => readState(ctx, 0),
    write: (state: CheckState) => writeState(ctx, state),
    toEntry: (takenAtMs: number) => toCheckEntry(ctx, takenAtMs),
  };
}

/** A check without its settings does not run; its last status must not look current. */
async function pause(ctx: ObjectContext): Promise<null> {
  const nowMs = await ctx.date.now();
  const state = await readState(ctx, nowMs);
  // A check that was started again keeps the status `paused` until its first run: clear its timer too.
  timers.clear(ctx);
  clearRun(ctx);
  clearEarly(ctx);
  pollTimers.clear(ctx);
  if (state.status === "paused") return null;
  writeState(ctx, withoutMarks({ ...state, status: "paused", sinceMs: nowMs }));
  await writeSnapshot(ctx, nowMs);
  return null;
}

export async function writeSnapshot(ctx: ObjectContext, nowMs: number): Promise<void> {
  record(ctx, ctx.key, await toCheckEntry(ctx, nowMs));
}

export async function toCheckEntry(ctx: ObjectContext, atMs: number): Promise<StateEntry> {
  const state = await readState(ctx, atMs);
  const { status, sinceMs, decidedRunMs, alert, locations } = state;
  const reporting = Object.values(locations).filter(({ isSilent }) => !isSilent);
  return toEntry(ctx, {
    checkId: ctx.key,
    kind: "api",
    takenAtMs: await nextTakenAtMs(ctx, atMs),
    status,
    sinceMs,
    lastAtMs: decidedRunMs,
    lastDurationMs:
      reporting.length === 0 ? null : Math.max(...reporting.map(({ durationMs }) => durationMs)),
    dueAtMs: null,
    alert,
    suppressed: state.suppressed,
    quiet: await readQuiet(ctx),
    locations,
  });
}
