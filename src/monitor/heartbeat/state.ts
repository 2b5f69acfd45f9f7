/** The durable state of one heartbeat: each key declared once. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { durableTimer } from "#kernel/durable-timer.ts";
import type { HeartbeatState } from "#monitor/contract.ts";

type Alarm = { generation: number; atMs: number };

const keys = { state: "state", toldAtMs: "told-at-ms" } as const;

export const alarms = durableTimer<Alarm>("alarm");

/** null: it has no ping URL yet, and nobody waits for it. */
export const readState = (ctx: ObjectSharedContext) => ctx.get<HeartbeatState>(keys.state);
export const writeState = (ctx: ObjectContext, state: HeartbeatState) => ctx.set(keys.state, state);

/** The last start or failure that the object was told of, or never will be; null: none. */
export const readToldAtMs = (ctx: ObjectSharedContext) => ctx.get<number>(keys.toldAtMs);
export const writeToldAtMs = (ctx: ObjectContext, atMs: number) => ctx.set(keys.toldAtMs, atMs);
