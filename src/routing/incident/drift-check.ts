/** Starts drift checks, and notifies people when drift appears and when it ends. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { after } from "#kernel/durable-timer.ts";
import { chatChannel } from "#notify/contract.ts";
import type { DriftReport } from "#routing/incident/contract.ts";
import { announceDrift } from "./drift.ts";
import { alertRoutesRuns } from "./internal.ts";
import { readAnnounced, writeAnnounced, writeDrift } from "./state.ts";

export function requestCheck(ctx: ObjectContext, afterMs: number): void {
  ctx.sendClient(alertRoutesRuns, ctx.key).check({}, after(afterMs));
}

export async function checked(ctx: ObjectContext, report: DriftReport): Promise<null> {
  writeDrift(ctx, report);
  const message = announceDrift(await readAnnounced(ctx), report, `drift-${report.checked_at}`);
  if (message === undefined || report.state === "unknown") return null;
  writeAnnounced(ctx, report.state);
  ctx.sendClient(chatChannel, "alert_routes").Post(message);
  return null;
}
