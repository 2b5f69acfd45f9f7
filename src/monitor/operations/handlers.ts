/** The handlers of an operator's operations on alerts, the same for API checks and heartbeats. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { type Actor, nameOf, type ReadActor, sharedActor } from "#kernel/actor.ts";
import type { OpenAlert, Quiet } from "#monitor/contract.ts";
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

/** Changes mute and maintenance as an operator wants it. */
type Change<Request> = (quiet: Quiet, request: Request & { by: string }, nowMs: number) => Quiet;

type Parts = {
  /** Throws 404 for a key that names no check. */
  find: (ctx: ObjectContext) => Promise<OperatedCheck>;
  readActor: ReadActor;
};

export function createOperatorHandlers({ find, readActor }: Parts) {
  const quiet =
    <Request extends object>(message: string, change: Change<Request>) =>
    async (ctx: ObjectContext, request: Request) => {
      const check = await find(ctx);
      const by = nameOf(readActor(ctx));
      const nowMs = await ctx.date.now();
      writeQuiet(ctx, change(await readQuiet(ctx), { ...request, by }, nowMs));
      ctx.console.info(message, { check: ctx.key, by, ...request });
      await check.quietChanged(nowMs);
      return show(ctx, check, nowMs);
    };
  return {
    Mute: quiet("check muted", mute),
    Unmute: quiet("check unmuted", ({ maintenance }) => ({ mutedUntilMs: null, maintenance })),
    Maintenance: quiet("maintenance added", addMaintenance),
    EndMaintenance: quiet("maintenance ended", (now) => ({ ...now, maintenance: [] })),
    Acknowledge: async (ctx: ObjectContext, request: Acknowledgement) => {
      const check = await find(ctx);
      const nowMs = await ctx.date.now();
      const by = acknowledgerOf(readActor(ctx), request);
      const alert = acknowledge(await check.readAlert(nowMs), { ...request, by }, nowMs);
      await check.writeAlert(alert, nowMs);
      ctx.console.info("alert acknowledged", { check: ctx.key, by, episode: alert.episode });
      return show(ctx, check, nowMs);
    },
  };
}

/** The ingress token is shared: its name is followed by the name that the caller has given, which counts for nobody else. */
function acknowledgerOf(actor: Actor, { by: given }: Acknowledgement): string {
  const by = nameOf(actor);
  return by === sharedActor && given !== by ? `${by} (${given})`.slice(0, 200) : by;
}

async function show(ctx: ObjectContext, check: OperatedCheck, nowMs: number): Promise<AlertState> {
  const alert = await check.readAlert(nowMs);
  await check.writeSnapshot(nowMs);
  return describeAlertState(ctx.key, { quiet: await readQuiet(ctx), alert });
}
