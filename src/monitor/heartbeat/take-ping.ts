/** Handles a ping in the object of its heartbeat. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import type { PingCall } from "#monitor/internal.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { takePing } from "#monitor/rules/deadline.ts";
import { heardAtMs } from "#monitor/rules/occurrences.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { type Clock, setRight } from "#monitor/rules/set-right.ts";
import { withDependencies } from "#monitor/transitions/with-dependencies.ts";
import { isPlain } from "./alarm.ts";
import { commitDecision, ensureState, type HeartbeatCall, type Outcome } from "./commit.ts";
import { resultsOf } from "./records.ts";
import { readState, recordReceived, writeState } from "./state.ts";

/** Takes a ping that was sent to the object: its heartbeat is watched, or the ping is a start or a failure. */
export async function ping(
  ctx: ObjectContext,
  call: HeartbeatCall,
  received: PingCall,
): Promise<null> {
  const { heartbeat, parts } = call;
  await ensureState(ctx, heartbeat, received.atMs);
  const nowMs = await ctx.date.now();
  const successAtMs = received.heardAtMs ?? null;
  // A time that lies ahead is replaced by one just before this ping, so that the ping counts.
  await correct(ctx, heartbeat, { nowMs, fromMs: received.atMs - 1 });
  if (successAtMs !== null && successAtMs < received.atMs) await catchUp(ctx, call, successAtMs);
  if (received.kind !== "success") await recordReceived(ctx, received.atMs);
  const before = await readState(ctx);
  if (before === null) return null;
  const isQuiet = await isQuietAt(ctx, nowMs);
  const opening = { check: heartbeat, before, isQuiet, atMs: nowMs, runAtMs: received.atMs };
  const decision = await withDependencies(ctx, opening, {
    readRollout: parts.readRollout,
    decide: (how) => takePing(heartbeat, before, { ping: received, ...how }),
  });
  const results = resultsOf(heartbeat, received, before);
  await finish(ctx, call, { before, decision, results, nowMs });
  // The gateway wrote this success to the inbox and did not send it to this object.
  if (successAtMs !== null && successAtMs >= received.atMs) {
    await takeSuccess(ctx, call, successAtMs);
  }
  return null;
}

/** A successful ping that the object found in the inbox. */
export function takeSuccess(ctx: ObjectContext, call: HeartbeatCall, atMs: number): Promise<null> {
  return ping(ctx, call, { kind: "success", atMs });
}

/** Commits a decision, and then takes a successful ping that came meanwhile. */
export async function finish(
  ctx: ObjectContext,
  call: HeartbeatCall,
  outcome: Outcome,
): Promise<void> {
  const laterAtMs = await commitDecision(ctx, call, outcome);
  if (laterAtMs !== null) await takeSuccess(ctx, call, laterAtMs);
}

/**
 * Takes a success that came before a start or a failure and was not sent to the object: its heartbeat was
 * ok, or the call was lost. In the latter case it ends an episode, which the failure must not prolong.
 */
async function catchUp(ctx: ObjectContext, call: HeartbeatCall, atMs: number): Promise<void> {
  const known = await readState(ctx);
  if (known === null || atMs <= heardAtMs(known)) return;
  if (isPlain(known)) writeState(ctx, withPing(call.heartbeat, known, atMs));
  else await takeSuccess(ctx, call, atMs);
}

async function correct(ctx: ObjectContext, heartbeat: Heartbeat, clock: Clock): Promise<void> {
  const known = await readState(ctx);
  const right = known && setRight(heartbeat, known, clock);
  if (right !== null && right !== known) writeState(ctx, right);
}

/** Moves the deadline by a ping of a heartbeat that is ok. The gateway has recorded its result. */
export function withPing(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  atMs: number,
): HeartbeatState {
  const ping = { kind: "success", atMs } as const;
  return takePing(heartbeat, state, { ping, isQuiet: true, rollout: null }).state;
}

export async function isQuietAt(ctx: ObjectContext, atMs: number): Promise<boolean> {
  return quietUntilMs(await readQuiet(ctx), atMs) !== null;
}
