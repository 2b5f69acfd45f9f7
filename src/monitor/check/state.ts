/** The durable state of one API check: each key declared once. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { CheckResult, CheckState } from "#monitor/contract.ts";
import type { Grid } from "#monitor/rules/grid.ts";
import { newCheckState } from "#monitor/rules/verdict.ts";

/** The timer that is set; one of another generation does nothing. */
export type Timer = { generation: number; dueMs: number; grid: Grid };

/** A run that still waits for reports. */
export type OpenRun = {
  scheduledAtMs: number;
  expected: string[];
  results: CheckResult[];
};

const keys = { timer: "timer", run: "run", early: "early", state: "state" } as const;

export const readTimer = (ctx: ObjectSharedContext) => ctx.get<Timer>(keys.timer);
export const writeTimer = (ctx: ObjectContext, timer: Timer) => ctx.set(keys.timer, timer);
export const clearTimer = (ctx: ObjectContext) => ctx.clear(keys.timer);

export const readRun = (ctx: ObjectSharedContext) => ctx.get<OpenRun>(keys.run);
export const writeRun = (ctx: ObjectContext, run: OpenRun) => ctx.set(keys.run, run);
export const clearRun = (ctx: ObjectContext) => ctx.clear(keys.run);

/** Results of runs that have not begun; what an earlier version left has none. */
export async function readEarly(ctx: ObjectSharedContext): Promise<CheckResult[]> {
  return (await ctx.get<CheckResult[]>(keys.early)) ?? [];
}
export const writeEarly = (ctx: ObjectContext, results: CheckResult[]) =>
  ctx.set(keys.early, results);
export const clearEarly = (ctx: ObjectContext) => ctx.clear(keys.early);

export async function readState(ctx: ObjectSharedContext, nowMs: number): Promise<CheckState> {
  return (await ctx.get<CheckState>(keys.state)) ?? newCheckState(nowMs);
}
export const writeState = (ctx: ObjectContext, state: CheckState) => ctx.set(keys.state, state);
