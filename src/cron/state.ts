/** The durable state of one job's timer: each key declared once. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { durableTimer } from "#kernel/durable-timer.ts";
import type { CronRun } from "./contract.ts";
import type { Timer } from "./schedule.ts";

/**
 * The active run, and the invocation to attach to. `by`: the operator who started it; null: its timer did. Absent: the
 * name has not arrived yet, or an earlier version started it.
 */
export type ActiveRun = {
  runId: string;
  invocation: string;
  startedAtMs: number;
  by?: string | null;
};

const keys = {
  running: "running",
  lastRun: "lastRun",
  lastSuccessAt: "lastSuccessAt",
} as const;

export const timers = durableTimer<Timer>("timer");

export const readRunning = (ctx: ObjectSharedContext) => ctx.get<ActiveRun>(keys.running);
export const writeRunning = (ctx: ObjectContext, run: ActiveRun) => ctx.set(keys.running, run);

export const readLastRun = (ctx: ObjectSharedContext) => ctx.get<CronRun>(keys.lastRun);
export const readLastSuccess = (ctx: ObjectSharedContext) => ctx.get<string>(keys.lastSuccessAt);

export const writeLastRun = (ctx: ObjectContext, run: CronRun) => ctx.set(keys.lastRun, run);

/** Closes the active run; its end is stored with the name of who started it. */
export function writeEnd(ctx: ObjectContext, { by }: ActiveRun, run: CronRun): void {
  ctx.clear(keys.running);
  writeLastRun(ctx, { ...run, ...(by !== undefined && { by }) });
  if (run.outcome === "succeeded") ctx.set(keys.lastSuccessAt, run.ended_at);
}
