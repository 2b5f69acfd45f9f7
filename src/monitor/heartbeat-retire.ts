/** What the object of a heartbeat does when its heartbeat is gone, or pages somebody else. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { CheckSnapshot, Heartbeat, HeartbeatState } from "./contract.ts";
import { newHeartbeatState } from "./deadline.ts";
import { readQuiet, readState, writeState } from "./heartbeat-state.ts";
import { endAlert, leaveOldChannel, removed } from "./leave.ts";

/** Comes before whatever else is done about a heartbeat. */
export function moveAlert(ctx: ObjectContext, heartbeat: Heartbeat): Promise<void> {
  return leaveOldChannel(ctx, heartbeat, standingOf(ctx));
}

/** The heartbeat is defined no longer. All else stays, should it come back. */
export async function retire(ctx: ObjectContext): Promise<null> {
  await endAlert(ctx, removed, standingOf(ctx));
  return null;
}

function standingOf(ctx: ObjectContext) {
  return {
    read: () => readState(ctx),
    write: (state: HeartbeatState) => writeState(ctx, state),
    show: (takenAtMs: number) => show(ctx, takenAtMs),
  };
}

/** Just without its alert; a deadline is set when the heartbeat is looked at next. */
async function show(ctx: ObjectContext, takenAtMs: number): Promise<CheckSnapshot> {
  const state = (await readState(ctx)) ?? newHeartbeatState(takenAtMs);
  const { status, sinceMs, lastPingAtMs, lastDurationMs } = state;
  return {
    checkId: ctx.key,
    kind: "heartbeat",
    takenAtMs,
    status,
    sinceMs,
    lastAtMs: lastPingAtMs,
    lastDurationMs,
    dueAtMs: null,
    alert: null,
    quiet: await readQuiet(ctx),
    locations: {},
  };
}
