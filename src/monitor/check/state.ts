/** The durable state of one API check: each key declared once. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { after, durableTimer } from "#kernel/restate.ts";
import type { CheckResult, CheckState } from "#monitor/contract.ts";
import { apiCheckObject, type Report } from "#monitor/internal.ts";
import { type Grid, isTick } from "#monitor/rules/grid.ts";
import { newCheckState } from "#monitor/rules/verdict.ts";

export type Timer = { generation: number; dueMs: number; grid: Grid };

/** A run that still waits for reports. */
export type OpenRun = {
  scheduledAtMs: number;
  expected: string[];
  results: CheckResult[];
};

const keys = { run: "run", early: "early", state: "state" } as const;

export const timers = durableTimer<Timer>("timer");

/** The timer after which a pending alert asks again. */
export const pollTimers = durableTimer<{ generation: number; atMs: number }>("look");

export const readRun = (ctx: ObjectSharedContext) => ctx.get<OpenRun>(keys.run);
export const writeRun = (ctx: ObjectContext, run: OpenRun) => ctx.set(keys.run, run);
export const clearRun = (ctx: ObjectContext) => ctx.clear(keys.run);

/** Results of runs that have not begun. */
async function readEarly(ctx: ObjectSharedContext): Promise<CheckResult[]> {
  return (await ctx.get<CheckResult[]>(keys.early)) ?? [];
}
const writeEarly = (ctx: ObjectContext, results: CheckResult[]) => ctx.set(keys.early, results);
export const clearEarly = (ctx: ObjectContext) => ctx.clear(keys.early);

export async function readState(ctx: ObjectSharedContext, nowMs: number): Promise<CheckState> {
  return (await ctx.get<CheckState>(keys.state)) ?? newCheckState(nowMs);
}
export const writeState = (ctx: ObjectContext, state: CheckState) => ctx.set(keys.state, state);

/**
 * Stores the results of a future tick, and ignores all others: a further location that is quick, or whose clock is slightly
 * ahead, reports before a busy worker begins the run.
 */
export async function storeEarly(ctx: ObjectContext, given: Report): Promise<void> {
  const timer = await timers.read(ctx);
  if (timer === null || !isFuture(timer, given.scheduledAtMs)) return;
  const known = await readEarly(ctx);
  const isNew = (one: CheckResult) => !known.some((other) => isSameRun(one, other));
  writeEarly(ctx, [...known, ...given.results.filter(isNew)].slice(0, maxEarly));
}

/** Enough for a tick or two of more locations than any installation has. */
const maxEarly = 200;

function isFuture({ dueMs, grid }: Timer, scheduledAtMs: number): boolean {
  return scheduledAtMs >= dueMs && isTick(grid, scheduledAtMs);
}

function isSameRun(one: CheckResult, other: CheckResult): boolean {
  return one.location === other.location && one.scheduledAtMs === other.scheduledAtMs;
}

/** Returns the stored results of this run and deletes them, as well as those of earlier runs. */
export async function takeEarly(ctx: ObjectContext, runAtMs: number): Promise<CheckResult[]> {
  const known = await readEarly(ctx);
  if (known.length === 0) return [];
  const later = known.filter(({ scheduledAtMs }) => scheduledAtMs > runAtMs);
  if (later.length > 0) writeEarly(ctx, later);
  else clearEarly(ctx);
  return known.filter(({ scheduledAtMs }) => scheduledAtMs === runAtMs);
}

/** Sets it while an alert is pending. One that is earlier remains. */
export async function pollAgain(
  ctx: ObjectContext,
  { pendingAlert }: CheckState,
  nowMs: number,
): Promise<void> {
  if (pendingAlert === null) return;
  const before = await pollTimers.read(ctx);
  const atMs = pendingAlert.lookAtMs;
  if (before !== null && before.atMs > nowMs && before.atMs <= atMs) return;
  pollTimers.set(ctx, { before, atMs }, (generation) =>
    ctx.sendClient(apiCheckObject, ctx.key).reconsider({ generation }, after(atMs - nowMs)),
  );
}
