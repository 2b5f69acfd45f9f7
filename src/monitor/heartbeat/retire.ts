/** What the object of a heartbeat does when its heartbeat is gone, or pages somebody else. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import { endAlert, leaveOldChannel, removed } from "#monitor/transitions/end-alert.ts";
import { snapshotOf } from "./records.ts";
import { readState, writeState } from "./state.ts";

/** Comes before whatever else is done about a heartbeat. */
export function moveAlert(ctx: ObjectContext, heartbeat: Heartbeat): Promise<void> {
  return leaveOldChannel(ctx, heartbeat, stateAccess(ctx));
}

/** The heartbeat is defined no longer. All else stays, should it come back. */
export async function retire(ctx: ObjectContext): Promise<null> {
  await endAlert(ctx, removed, stateAccess(ctx));
  return null;
}

function stateAccess(ctx: ObjectContext) {
  return {
    read: () => readState(ctx),
    write: (state: HeartbeatState) => writeState(ctx, state),
    // A deadline is set when the heartbeat is looked at next.
    show: (takenAtMs: number) => snapshotOf(ctx, null, takenAtMs),
  };
}
