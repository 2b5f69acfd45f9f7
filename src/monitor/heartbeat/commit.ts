/** The end of each step of a heartbeat's object: writes state, events and records, and ends the watch. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { CheckResult, Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import { dueAtMs, newHeartbeatState } from "#monitor/rules/deadline.ts";
import type { Decision } from "#monitor/rules/verdict.ts";
import { record, sendToChannels } from "#monitor/transitions/hand-over.ts";
import { isPlain, rearm, wakeWhenDelivered } from "./alarm.ts";
import type { HeartbeatParts } from "./parts.ts";
import { toHeartbeatEntry, writeSnapshot } from "./records.ts";
import { readReceivedAtMs, readState, writeState } from "./state.ts";

export type HeartbeatCall = { heartbeat: Heartbeat; parts: HeartbeatParts };

/**
 * Writes the first state, from which the first deadline counts, also of a heartbeat that was paused. Every call
 * does so when there is none: pings are expected, so that there was a state, and Restate has lost it.
 */
export async function ensureState(
  ctx: ObjectContext,
  heartbeat: Heartbeat,
  fromMs: number | null = null,
): Promise<HeartbeatState> {
  const known = await readState(ctx);
  if (known !== null && known.status !== "paused") return known;
  const nowMs = await ctx.date.now();
  // Episodes count on: their number is in the ids of the events.
  const started = { ...newHeartbeatState(fromMs ?? nowMs), episodes: known?.episodes ?? 0 };
  writeState(ctx, started);
  await rearm(ctx, heartbeat, nowMs);
  await writeSnapshot(ctx, heartbeat, nowMs);
  return started;
}

export type Outcome = {
  before: HeartbeatState;
  decision: Decision<HeartbeatState>;
  results: CheckResult[];
  nowMs: number;
};

/**
 * Writes state, event and records, which Restate commits together, and ends the watch of a heartbeat that is
 * plainly ok. Returns the time of a successful ping that the object has yet to take; null: none.
 */
export async function commitDecision(
  ctx: ObjectContext,
  { heartbeat, parts }: HeartbeatCall,
  { before, decision, results, nowMs }: Outcome,
): Promise<number | null> {
  const { state, transition } = decision;
  writeState(ctx, state);
  if (transition !== null) await sendToChannels(ctx, heartbeat, transition);
  await rearm(ctx, heartbeat, nowMs);
  const hasChanged = results.length > 0 || !isPlain(before) || !isPlain(state);
  if (hasChanged) {
    const shown = await toHeartbeatEntry(ctx, heartbeat, nowMs);
    const entry = { results, ...shown, ...(transition !== null && { transition }) };
    record(ctx, heartbeat.id, entry);
  }
  return isPlain(state) ? release(ctx, { heartbeat, parts }, state) : null;
}

/** Ends the watch, unless a ping came meanwhile or a call with a start or failure is on its way. */
async function release(
  ctx: ObjectContext,
  { heartbeat, parts: { inbox } }: HeartbeatCall,
  state: HeartbeatState,
): Promise<number | null> {
  const { lastPingAtMs } = state;
  const dueMs = dueAtMs(heartbeat, state);
  const receivedAtMs = await readReceivedAtMs(ctx);
  const found = await ctx.run("release", () =>
    inbox.release({ id: ctx.key, lastPingAtMs, receivedAtMs, dueAtMs: dueMs }),
  );
  const { tellingAtMs, lastPingAtMs: pingAtMs } = found;
  if (tellingAtMs !== null) {
    await wakeWhenDelivered(ctx, { tellingAtMs, nowMs: await ctx.date.now() });
    return null;
  }
  return pingAtMs !== null && pingAtMs > (lastPingAtMs ?? 0) ? pingAtMs : null;
}
