/** The durable state of one job's timer: each key declared once. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { durableTimer } from "#kernel/durable-timer.ts";
import type { CronRun } from "./contract.ts";
import type { RunOrder } from "./internal.ts";
import type { Timer } from "./schedule.ts";

/** The active run, and the invocation to attach to. */
export type ActiveRun = RunOrder & { invocation: string };

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

/** Closes the active run, and stores how it has ended. */
export function writeEnd(ctx: ObjectContext, run: CronRun): void {
  ctx.clear(keys.running);
  ctx.set(keys.lastRun, run);
  if (run.outcome === "succeeded") ctx.set(keys.lastSuccessAt, run.ended_at);
}
