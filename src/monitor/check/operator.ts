/** The handlers by which an operator quiets an API check. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { ApiCheck, Quiet } from "#monitor/contract.ts";
import type { AlertState } from "#monitor/operations/contract.ts";
import {
  type Acknowledgement,
  acknowledge,
  addMaintenance,
  describeAlertState,
  mute,
} from "#monitor/operations/rules.ts";
import { notQuiet } from "#monitor/rules/quiet.ts";
import { readQuiet, readState, writeQuiet, writeState } from "./state.ts";
import { writeSnapshot } from "./steps.ts";

/** The check of an object's key. Throws 404. */
export type FindCheck = (ctx: ObjectSharedContext) => ApiCheck;

export function operatorHandlersOfApiCheck(find: FindCheck) {
  const quiet = (change: (quiet: Quiet, nowMs: number) => Quiet) => async (ctx: ObjectContext) => {
    find(ctx);
    const nowMs = await ctx.date.now();
    writeQuiet(ctx, change(await readQuiet(ctx), nowMs));
    return show(ctx, nowMs);
  };
  return {
    Mute: (ctx: ObjectContext, { until }: { until?: string | undefined }) =>
      quiet((now, nowMs) => mute(now, until, nowMs))(ctx),
    Unmute: quiet((now) => ({ ...now, mutedUntilMs: null })),
    Maintenance: (ctx: ObjectContext, window: { from: string; to: string; reason: string }) =>
      quiet((now, nowMs) => addMaintenance(now, window, nowMs))(ctx),
    EndMaintenance: quiet((now) => ({ ...notQuiet, mutedUntilMs: now.mutedUntilMs })),
    Acknowledge: async (ctx: ObjectContext, request: Acknowledgement) => {
      find(ctx);
      const nowMs = await ctx.date.now();
      const state = await readState(ctx, nowMs);
      writeState(ctx, { ...state, alert: acknowledge(state.alert, request, nowMs) });
      return show(ctx, nowMs);
    },
  };
}

async function show(ctx: ObjectContext, nowMs: number): Promise<AlertState> {
  const { alert } = await readState(ctx, nowMs);
  await writeSnapshot(ctx, nowMs);
  return describeAlertState(ctx.key, { quiet: await readQuiet(ctx), alert });
}
