/** Looks for drift again and again, and tells people when it appears and when it ends. */
import { type ObjectContext, rpc } from "@restatedev/restate-sdk";
import { chatChannel } from "#notify/contract.ts";
import type { DriftReport } from "#routing/incident/contract.ts";
import { announceDrift } from "./drift.ts";
import { alertRoutesObject, alertRoutesRuns, type Tick } from "./internal.ts";
import { readTimer, readTold, writeDrift, writeTimer, writeTold } from "./state.ts";

/** `nextMs`: when to look again after that, if sooner than usual. */
type DriftTimer = { checkEveryMs: number; afterMs: number; nextMs?: number };

/** Sets the timer anew, as often as a worker starts or an apply ends: an older one does nothing. */
export async function arm(
  ctx: ObjectContext,
  { checkEveryMs, afterMs, nextMs }: DriftTimer,
): Promise<null> {
  const generation = ((await readTimer(ctx))?.generation ?? 0) + 1;
  if (checkEveryMs === 0) {
    writeTimer(ctx, { generation, dueAtMs: 0 });
    return null;
  }
  writeTimer(ctx, { generation, dueAtMs: (await ctx.date.now()) + afterMs });
  const due = { generation, ...(nextMs !== undefined && { nextMs }) };
  ctx.sendClient(alertRoutesObject, ctx.key).tick(due, rpc.sendOpts({ delay: afterMs }));
  return null;
}

export async function tick(
  ctx: ObjectContext,
  { generation, nextMs, checkEveryMs }: Tick & { checkEveryMs: number },
): Promise<null> {
  if ((await readTimer(ctx))?.generation !== generation) return null;
  await arm(ctx, { checkEveryMs, afterMs: Math.min(nextMs ?? checkEveryMs, checkEveryMs) });
  if (checkEveryMs > 0) ctx.sendClient(alertRoutesRuns, ctx.key).check({ readsOwned: true });
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
