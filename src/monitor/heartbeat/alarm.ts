/** The alarm of a heartbeat that is not plainly ok: a durable timer of its object. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { after } from "#kernel/durable-timer.ts";
import type { Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import { heartbeatObject } from "#monitor/internal.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { wakeAtMs } from "#monitor/rules/deadline.ts";
import { untilWrittenMs } from "./deadlines.ts";
import { alarms, readState } from "./state.ts";

/** Whether pings need not be told: each would only move the deadline. */
export function isPlain({ status, alert, startedAtMs, held }: HeartbeatState): boolean {
  return status === "ok" && alert === null && startedAtMs === null && held === null;
}

/** While an alert is open: a ping whose notice was lost is found by then. */
const lookAgainMs = 60_000;

/**
 * An alarm that is set earlier than it has to be stays: it costs less to wake once too often than
 * to set it anew with each ping. One whose time has come is used up.
 */
export async function rearm(
  ctx: ObjectContext,
  heartbeat: Heartbeat,
  nowMs: number,
): Promise<void> {
  const state = await readState(ctx);
  // Of one that is ok Postgres keeps the deadline.
  if (state === null || isPlain(state)) return;
  const quiet = await readQuiet(ctx);
  const wakeMs = wakeAtMs(heartbeat, state, { quiet, nowMs }) ?? nowMs + lookAgainMs;
  // The end of a mute may be centuries away, where no timer reaches.
  const atMs = Math.min(wakeMs, nowMs + longestDelayMs);
  await setAlarm(ctx, { atMs, nowMs });
}

/**
 * Looks again when the object is sure to have been told of what was announced for `toldAtMs`: it takes
 * its calls in turn, and nobody tells for so long. Also one that is ok does, to end its watch.
 */
export function lookAfterTelling(
  ctx: ObjectContext,
  { toldAtMs, nowMs }: { toldAtMs: number; nowMs: number },
): Promise<void> {
  const earliestMs = Math.max(nowMs + 1_000, toldAtMs + longestTellingMs);
  const atMs = Math.min(earliestMs, nowMs + longestTellingMs);
  return setAlarm(ctx, { atMs, nowMs, toldAtMs });
}

/** Whether pings were listened for is not known yet, but soon. */
export function lookSoon(ctx: ObjectContext, nowMs: number): Promise<void> {
  return setAlarm(ctx, { atMs: nowMs + 1_000, nowMs });
}

/** More than all attempts of `patience.caller` take together. */
const longestTellingMs = 60_000;

type Wake = { atMs: number; nowMs: number; toldAtMs?: number };

async function setAlarm(ctx: ObjectContext, { atMs, nowMs, ...behind }: Wake): Promise<void> {
  const before = await alarms.read(ctx);
  if (before !== null && before.atMs > nowMs && before.atMs <= atMs) return;
  const delayMs = atMs > nowMs ? atMs - nowMs + untilWrittenMs : 0;
  alarms.set(ctx, { before, atMs }, (generation) =>
    ctx.sendClient(heartbeatObject, ctx.key).expire({ generation, ...behind }, after(delayMs)),
  );
}

const longestDelayMs = 400 * 86_400_000;
