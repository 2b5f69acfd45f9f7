/** The handlers of an operator's operations on alerts, the same for API checks and heartbeats. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { OpenAlert, Quiet } from "#monitor/contract.ts";
import { notQuiet } from "#monitor/rules/quiet.ts";
import type { AlertState } from "./contract.ts";
import { readQuiet, writeQuiet } from "./quiet-state.ts";
import {
  type Acknowledgement,
  acknowledge,
  addMaintenance,
  describeAlertState,
  mute,
} from "./rules.ts";

/** The check of an object's key, as these handlers see it. */
export type OperatedCheck = {
  readAlert: (nowMs: number) => Promise<OpenAlert | null>;
  writeAlert: (alert: OpenAlert, nowMs: number) => Promise<void>;
  /** Called after mute or maintenance has changed, since the check may now alert earlier. */
  quietChanged: (nowMs: number) => Promise<void>;
  writeSnapshot: (nowMs: number) => Promise<void>;
};

/** `find` throws 404 for a key that names no check. */
export function createOperatorHandlers(find: (ctx: ObjectContext) => OperatedCheck) {
  const quiet = (change: (quiet: Quiet, nowMs: number) => Quiet) => async (ctx: ObjectContext) => {
    const check = find(ctx);
    const nowMs = await ctx.date.now();
    writeQuiet(ctx, change(await readQuiet(ctx), nowMs));
    await check.quietChanged(nowMs);
    return show(ctx, check, nowMs);
  };
  return {
    Mute: (ctx: ObjectContext, { until }: { until?: string | undefined }) =>
      quiet((now, nowMs) => mute(now, until, nowMs))(ctx),
    Unmute: quiet((now) => ({ ...now, mutedUntilMs: null })),
    Maintenance: (ctx: ObjectContext, window: { from: string; to: string; reason: string }) =>
      quiet((now, nowMs) => addMaintenance(now, window, nowMs))(ctx),
    EndMaintenance: quiet((now) => ({ ...notQuiet, mutedUntilMs: now.mutedUntilMs })),
    Acknowledge: async (ctx: ObjectContext, request: Acknowledgement) => {
      const check = find(ctx);
      const nowMs = await ctx.date.now();
      const alert = acknowledge(await check.readAlert(nowMs), request, nowMs);
      await check.writeAlert(alert, nowMs);
      return show(ctx, check, nowMs);
    },
  };
}

async function show(ctx: ObjectContext, check: OperatedCheck, nowMs: number): Promise<AlertState> {
  const alert = await check.readAlert(nowMs);
  await check.writeSnapshot(nowMs);
  return describeAlertState(ctx.key, { quiet: await readQuiet(ctx), alert });
}
