/**
 * What the object of a heartbeat does when its definition is removed, its job is off, or its channel
 * changes.
 */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import { newHeartbeatState } from "#monitor/rules/deadline.ts";
import { withoutMarks } from "#monitor/rules/suppression.ts";
import { endAlert, followChannels, removed } from "#monitor/transitions/end-alert.ts";
import { writeDown } from "#monitor/transitions/hand-over.ts";
import { showHeartbeat, writeSnapshot } from "./records.ts";
import { readState, writeState } from "./state.ts";

/** Called before each step that takes a ping or checks a deadline. */
export function moveAlert(ctx: ObjectContext, heartbeat: Heartbeat): Promise<void> {
  return followChannels(ctx, heartbeat, stateAccess(ctx));
}

/** The heartbeat is no longer defined. The rest of its state is kept, in case it is defined again. */
export async function retire(ctx: ObjectContext): Promise<null> {
  await endAlert(ctx, removed, stateAccess(ctx));
  const state = await readState(ctx);
  if (state === null || state.suppressed === null) return null;
  writeState(ctx, withoutMarks(state));
  writeDown(ctx, ctx.key, await showHeartbeat(ctx, null, await ctx.date.now()));
  return null;
}

/** Nobody pings the heartbeat for now, and why. Its episodes are kept. */
export async function pause(
  ctx: ObjectContext,
  heartbeat: Heartbeat,
  because: string,
): Promise<void> {
  await endAlert(ctx, because, stateAccess(ctx));
  const nowMs = await ctx.date.now();
  const episodes = (await readState(ctx))?.episodes ?? 0;
  writeState(ctx, { ...newHeartbeatState(nowMs), status: "paused", episodes });
  await writeSnapshot(ctx, heartbeat, nowMs);
}

function stateAccess(ctx: ObjectContext) {
  return {
    read: () => readState(ctx),
    write: (state: HeartbeatState) => writeState(ctx, state),
    // The next step of the object sets the deadline.
    show: (takenAtMs: number) => showHeartbeat(ctx, null, takenAtMs),
  };
}
