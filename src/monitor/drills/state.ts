/** The durable state of one drill: each key declared once. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { durableTimer } from "#kernel/durable-timer.ts";
import type { DrillRun, DrillTimer } from "./rules.ts";

const keys = { timer: "timer", run: "run" } as const;

export const timers = durableTimer<DrillTimer>(keys.timer);

/** The last run; null: there was none. */
export const readRun = (ctx: ObjectContext) => ctx.get<DrillRun>(keys.run);
export const writeRun = (ctx: ObjectContext, run: DrillRun) => ctx.set(keys.run, run);
