/** What the object of a heartbeat does when its definition is removed, or its channel changes. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import { endAlert, leaveOldChannel, removed } from "#monitor/transitions/end-alert.ts";
import { snapshotOf } from "./records.ts";
import { readState, writeState } from "./state.ts";

/** Called before each step that takes a ping or checks a deadline. */
export function moveAlert(ctx: ObjectContext, heartbeat: Heartbeat): Promise<void> {
  return leaveOldChannel(ctx, heartbeat, stateAccess(ctx));
}

/** The heartbeat is no longer defined. The rest of its state is kept, in case it is defined again. */
export async function retire(ctx: ObjectContext): Promise<null> {
  await endAlert(ctx, removed, stateAccess(ctx));
  return null;
}

function stateAccess(ctx: ObjectContext) {
  return {
    read: () => readState(ctx),
    write: (state: HeartbeatState) => writeState(ctx, state),
    // The next step of the object sets the deadline.
    show: (takenAtMs: number) => snapshotOf(ctx, null, takenAtMs),
  };
}
