/** The durable state of one API check: each key declared once. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { durableTimer } from "#kernel/durable-timer.ts";
import type { CheckResult, CheckState } from "#monitor/contract.ts";
import type { Grid } from "#monitor/rules/grid.ts";
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

/** When to ask again what a pending alert waits for. */
export const looks = durableTimer<{ generation: number; atMs: number }>("look");

export const readRun = (ctx: ObjectSharedContext) => ctx.get<OpenRun>(keys.run);
export const writeRun = (ctx: ObjectContext, run: OpenRun) => ctx.set(keys.run, run);
export const clearRun = (ctx: ObjectContext) => ctx.clear(keys.run);

/** Results of runs that have not begun. */
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
