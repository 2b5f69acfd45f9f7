/** The durable state of one heartbeat: each key declared once. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { durableTimer } from "#kernel/restate.ts";
import type { HeartbeatState } from "#monitor/contract.ts";

type Alarm = { generation: number; atMs: number };

const keys = { state: "state", receivedAtMs: "told-at-ms" } as const;

export const alarms = durableTimer<Alarm>("alarm");

/** null: nobody pings the heartbeat yet, and so it has no deadline. */
export const readState = (ctx: ObjectSharedContext) => ctx.get<HeartbeatState>(keys.state);
export const writeState = (ctx: ObjectContext, state: HeartbeatState) => ctx.set(keys.state, state);

/** True if nobody pings the heartbeat for now, so that a call of its object has nothing to do. */
export async function isPaused(ctx: ObjectContext): Promise<boolean> {
  return (await readState(ctx))?.status === "paused";
}

/** The last start or failure that the object has received, or never will; null: none. */
export const readReceivedAtMs = (ctx: ObjectSharedContext) => ctx.get<number>(keys.receivedAtMs);

export async function recordReceived(ctx: ObjectContext, atMs: number): Promise<void> {
  ctx.set(keys.receivedAtMs, Math.max(atMs, (await readReceivedAtMs(ctx)) ?? 0));
}
