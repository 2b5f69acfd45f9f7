/** Looks for drift again and again, and tells people when it appears and when it ends. */
import { type ObjectContext, rpc } from "@restatedev/restate-sdk";
import type { DriftReport } from "#alerting/routes-sync-contract.ts";
import { chatChannel } from "#notify/contract.ts";
import { announceDrift } from "./drift.ts";
import { alertRoutesObject, alertRoutesRunner } from "./internal.ts";
import { readTimer, readTold, writeDrift, writeTimer, writeTold } from "./state.ts";

type Arming = { checkEveryMs: number; afterMs: number };

/** Sets the timer anew, as often as a worker starts or an apply ends: an older one does nothing. */
export async function arm(ctx: ObjectContext, { checkEveryMs, afterMs }: Arming): Promise<null> {
  const generation = ((await readTimer(ctx))?.generation ?? 0) + 1;
  if (checkEveryMs === 0) {
    writeTimer(ctx, { generation, dueAtMs: 0 });
    return null;
  }
  writeTimer(ctx, { generation, dueAtMs: (await ctx.date.now()) + afterMs });
  ctx.sendClient(alertRoutesObject, ctx.key).tick({ generation }, rpc.sendOpts({ delay: afterMs }));
  return null;
}

export async function tick(
  ctx: ObjectContext,
  { generation, checkEveryMs }: { generation: number; checkEveryMs: number },
): Promise<null> {
  if ((await readTimer(ctx))?.generation !== generation) return null;
  await arm(ctx, { checkEveryMs, afterMs: checkEveryMs });
  if (checkEveryMs > 0) ctx.sendClient(alertRoutesRunner, ctx.key).check({});
  return null;
}

export async function checked(ctx: ObjectContext, report: DriftReport): Promise<null> {
  writeDrift(ctx, report);
  const message = announceDrift(await readTold(ctx), report, `drift-${report.checked_at}`);
  if (message === undefined || report.state === "unknown") return null;
  writeTold(ctx, report.state);
  ctx.sendClient(chatChannel, "alert_routes").Post(message);
  return null;
}
