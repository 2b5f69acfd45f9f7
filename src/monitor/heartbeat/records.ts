/** The results and the snapshot that are written for a heartbeat. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { CheckResult, Heartbeat, HeartbeatState, Ping } from "#monitor/contract.ts";
import { noPhases } from "#monitor/kinds/observe.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { dueAtMs, newHeartbeatState } from "#monitor/rules/deadline.ts";
import { describeFailure, expectedAtMs } from "#monitor/rules/occurrences.ts";
import { withoutMarks } from "#monitor/rules/suppression.ts";
import { endAlert, followChannels, removed } from "#monitor/transitions/end-alert.ts";
import { nextTakenAtMs, record, type StateEntry, toEntry } from "#monitor/transitions/hand-over.ts";
import { readState, writeState } from "./state.ts";

/** A start has no result. A run has a duration only if it sent a start. */
export function resultsOf(
  heartbeat: Heartbeat,
  received: Ping,
  { startedAtMs }: HeartbeatState,
): CheckResult[] {
  if (received.kind === "start") return [];
  const isOk = received.kind === "success";
  return [
    {
      checkId: heartbeat.id,
      location: "ping",
      scheduledAtMs: received.atMs,
      startedAtMs: received.atMs,
      grade: isOk ? "ok" : "failed",
      cause: isOk ? null : "error",
      durationMs: startedAtMs === null ? 0 : Math.max(0, received.atMs - startedAtMs),
      phases: noPhases,
      status: null,
      reason: isOk ? null : describeFailure(received),
      tlsDaysLeft: null,
    },
  ];
}

export async function writeSnapshot(
  ctx: ObjectContext,
  heartbeat: Heartbeat,
  nowMs: number,
): Promise<void> {
  record(ctx, ctx.key, await toHeartbeatEntry(ctx, heartbeat, nowMs));
}

/** `heartbeat`: null when it is no longer defined; then the deadline is unknown as well. */
export async function toHeartbeatEntry(
  ctx: ObjectContext,
  heartbeat: Heartbeat | null,
  atMs: number,
): Promise<StateEntry> {
  const state = (await readState(ctx)) ?? newHeartbeatState(atMs);
  const { status, sinceMs, lastPingAtMs, lastDurationMs, alert } = state;
  return toEntry(ctx, {
    checkId: ctx.key,
    kind: "heartbeat",
    takenAtMs: await nextTakenAtMs(ctx, atMs),
    status,
    sinceMs,
    lastAtMs: lastPingAtMs,
    lastDurationMs,
    dueAtMs:
      heartbeat === null || alert !== null || status === "paused"
        ? null
        : dueAtMs(heartbeat, state),
    ...(heartbeat?.schedule && { expectedAtMs: expectedAtMs(heartbeat, state) }),
    alert,
    suppressed: state.suppressed,
    quiet: await readQuiet(ctx),
    locations: {},
  });
}

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
  record(ctx, ctx.key, await toHeartbeatEntry(ctx, null, await ctx.date.now()));
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
    toEntry: (takenAtMs: number) => toHeartbeatEntry(ctx, null, takenAtMs),
  };
}
