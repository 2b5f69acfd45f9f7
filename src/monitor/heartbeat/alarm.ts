/** The alarm of a heartbeat that is not plainly ok: a durable timer of its object. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { after } from "#kernel/restate.ts";
import type { Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import { heartbeatObject } from "#monitor/internal.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { wakeAtMs } from "#monitor/rules/deadline.ts";
import { askAgainAtMs } from "#monitor/rules/suppression.ts";
import { untilStoredMs } from "./deadlines.ts";
import { alarms, readState } from "./state.ts";

/** True if a ping can only move the deadline, so that the object need not be called with it. */
export function isPlain({ status, alert, startedAtMs, held }: HeartbeatState): boolean {
  return status === "ok" && alert === null && startedAtMs === null && held === null;
}

/** While an alert is open: a ping whose call was lost is found by then. */
const pollAgainMs = 60_000;

/**
 * Sets the alarm. One that is earlier than necessary remains: waking once too often costs less than setting
 * it anew with each ping. One whose time has come is used up.
 */
export async function rearm(
  ctx: ObjectContext,
  heartbeat: Heartbeat,
  nowMs: number,
): Promise<void> {
  const state = await readState(ctx);
  // The deadline of a heartbeat that is ok is in Postgres.
  if (state === null || state.status === "paused" || isPlain(state)) return;
  const quiet = await readQuiet(ctx);
  const stateMs = wakeAtMs(heartbeat, state, { quiet, nowMs }) ?? nowMs + pollAgainMs;
  const wakeMs = Math.max(stateMs, askAgainAtMs(state, nowMs));
  // A mute may end in centuries, which is longer than a timer can be.
  const atMs = Math.min(wakeMs, nowMs + longestDelayMs);
  await setAlarm(ctx, { atMs, nowMs });
}

/**
 * Wakes when a start or failure of `tellingAtMs` has certainly been delivered, or never will be: calls are
 * served in turn, and the gateway retries for less than this. Also set for a heartbeat that is ok, to end its
 * watch.
 */
export function wakeWhenDelivered(
  ctx: ObjectContext,
  { tellingAtMs, nowMs }: { tellingAtMs: number; nowMs: number },
): Promise<void> {
  const earliestMs = Math.max(nowMs + 1_000, tellingAtMs + longestDeliveryMs);
  const atMs = Math.min(earliestMs, nowMs + longestDeliveryMs);
  return setAlarm(ctx, { atMs, nowMs, toldAtMs: tellingAtMs });
}

/** Sets the alarm for a moment from now, when it will be known if pings could be taken. */
export function wakeSoon(ctx: ObjectContext, nowMs: number): Promise<void> {
  return setAlarm(ctx, { atMs: nowMs + 1_000, nowMs });
}

/** More than all attempts of `patience.caller` take together. */
const longestDeliveryMs = 60_000;

type Wake = { atMs: number; nowMs: number; toldAtMs?: number };

async function setAlarm(ctx: ObjectContext, { atMs, nowMs, ...argument }: Wake): Promise<void> {
  const before = await alarms.read(ctx);
  if (before !== null && before.atMs > nowMs && before.atMs <= atMs) return;
  const delayMs = atMs > nowMs ? atMs - nowMs + untilStoredMs : 0;
  alarms.set(ctx, { before, atMs }, (generation) =>
    ctx.sendClient(heartbeatObject, ctx.key).expire({ generation, ...argument }, after(delayMs)),
  );
}

const longestDelayMs = 400 * 86_400_000;
