/** What the object of a heartbeat does: takes pings, wakes at deadlines, alerts. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { isAhead } from "#kernel/clock-fault.ts";
import type { CheckResult, Heartbeat, HeartbeatState } from "#monitor/contract.ts";
import type { AlarmCall, DeadlinePassed, PingCall } from "#monitor/internal.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { findAway } from "#monitor/rules/absences.ts";
import {
  type Clock,
  canExpire,
  dueAtMs,
  expire,
  heardAtMs,
  newHeartbeatState,
  setRight,
  takePing,
} from "#monitor/rules/deadline.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import type { Decision } from "#monitor/rules/verdict.ts";
import { handOver, withRollout, writeDown } from "#monitor/transitions/hand-over.ts";
import { isPlain, lookAfterTelling, lookSoon, rearm } from "./alarm.ts";
import type { HeartbeatParts } from "./parts.ts";
import { resultsOf, snapshotOf, writeSnapshot } from "./records.ts";
import { alarms, readState, readToldAtMs, writeState, writeToldAtMs } from "./state.ts";

type HeartbeatCall = { heartbeat: Heartbeat; parts: HeartbeatParts };

/**
 * Begins to wait: the first deadline counts from here. Whoever is told of a heartbeat begins, too: one
 * that has a ping URL was begun, and Restate has lost it.
 */
export async function begin(
  ctx: ObjectContext,
  heartbeat: Heartbeat,
  fromMs: number | null = null,
): Promise<HeartbeatState> {
  const known = await readState(ctx);
  if (known !== null) return known;
  const nowMs = await ctx.date.now();
  const begun = newHeartbeatState(fromMs ?? nowMs);
  writeState(ctx, begun);
  await rearm(ctx, heartbeat, nowMs);
  await writeSnapshot(ctx, heartbeat, nowMs);
  return begun;
}

/** A ping that the object was told of: the heartbeat is not plainly ok, or the ping is not plain. */
export async function ping(
  ctx: ObjectContext,
  given: HeartbeatCall,
  received: PingCall,
): Promise<null> {
  const { heartbeat, parts } = given;
  await begin(ctx, heartbeat, received.atMs);
  const nowMs = await ctx.date.now();
  const successAtMs = notAhead(received.heardAtMs, nowMs);
  // It is later than what it is not known to be later than.
  await correct(ctx, { nowMs, fromMs: received.atMs - 1 });
  if (successAtMs !== null && successAtMs < received.atMs) await catchUp(ctx, given, successAtMs);
  if (received.kind !== "success") await noteTold(ctx, { atMs: received.atMs, nowMs });
  const before = await readState(ctx);
  if (before === null) return null;
  const isQuiet = await isQuietAt(ctx, nowMs);
  const decision = await withRollout(ctx, parts.readRollout, (rollout) =>
    takePing(heartbeat, before, { ping: received, isQuiet, rollout }),
  );
  const results = resultsOf(heartbeat, received, before);
  await commitDecision(ctx, given, { before, decision, results, nowMs });
  // A success in the inbox that is as new as this ping: whoever wrote it did not call this object.
  if (successAtMs !== null && successAtMs >= received.atMs) {
    await ping(ctx, given, { kind: "success", atMs: successAtMs });
  }
  return null;
}

/**
 * A success before a start or a failure, of which the object was not told: its heartbeat was ok, or the
 * notice was lost. Then it ends an episode, which what follows must not go on with.
 */
async function catchUp(ctx: ObjectContext, given: HeartbeatCall, atMs: number): Promise<void> {
  const known = await readState(ctx);
  if (known === null || atMs <= heardAtMs(known)) return;
  if (isPlain(known)) writeState(ctx, withPing(given.heartbeat, known, atMs));
  else await ping(ctx, given, { kind: "success", atMs });
}

async function noteTold(
  ctx: ObjectContext,
  { atMs, nowMs }: { atMs: number; nowMs: number },
): Promise<void> {
  writeToldAtMs(ctx, Math.max(atMs, notAhead(await readToldAtMs(ctx), nowMs) ?? 0));
}

/** Of what was noted while a clock was ahead nobody knows when it was. */
function notAhead(atMs: number | null | undefined, nowMs: number): number | null {
  return atMs == null || isAhead(atMs, nowMs) ? null : atMs;
}

async function correct(ctx: ObjectContext, clock: Clock): Promise<void> {
  const known = await readState(ctx);
  const right = known && setRight(known, clock);
  if (right !== null && right !== known) writeState(ctx, right);
}

/** A ping of a heartbeat that is ok: it is recorded already, and moves the deadline. */
function withPing(heartbeat: Heartbeat, state: HeartbeatState, atMs: number): HeartbeatState {
  const ping = { kind: "success", atMs } as const;
  return takePing(heartbeat, state, { ping, isQuiet: true, rollout: null }).state;
}

/** The alarm: a deadline, the end of a mute, or one more look while an alert is open. */
export async function wake(
  ctx: ObjectContext,
  given: HeartbeatCall,
  { generation, toldAtMs }: AlarmCall,
): Promise<null> {
  if (toldAtMs !== undefined) {
    await noteTold(ctx, { atMs: toldAtMs, nowMs: await ctx.date.now() });
  }
  const before = await alarms.readCurrent(ctx, generation);
  if (before === null) return null;
  // Used up, also when it rang a moment early.
  alarms.set(ctx, { before, atMs: 0 });
  await look(ctx, given);
  return null;
}

/** No ping came by the deadline of one that was ok; whoever looked for it set the watch already. */
export async function overdue(
  ctx: ObjectContext,
  given: HeartbeatCall,
  { lastPingAtMs: pingAtMs, atMs: nowMs, away, rollout }: DeadlinePassed,
): Promise<null> {
  const { heartbeat } = given;
  const lastPingAtMs = notAhead(pingAtMs, nowMs);
  let known = await begin(ctx, heartbeat, lastPingAtMs);
  // Asked for only where it matters; what was looked for may be long ago.
  if (isAhead(heardAtMs(known), nowMs)) {
    const clockMs = await ctx.date.now();
    known = setRight(known, { nowMs: clockMs, fromMs: (lastPingAtMs ?? clockMs) - 1 });
  }
  if (!isPlain(known)) {
    // Told twice, or of a ping whose own notice was lost.
    const isNews = lastPingAtMs !== known.lastPingAtMs;
    if (lastPingAtMs === null || !isNews || lastPingAtMs < heardAtMs(known))
      return ensure(ctx, given);
    return ping(ctx, given, { kind: "success", atMs: lastPingAtMs });
  }
  // Also one who knows of a later ping says so: whoever looked has begun a watch that nobody else ends.
  const before = lastPingAtMs === null ? known : withPing(heartbeat, known, lastPingAtMs);
  const isQuiet = await isQuietAt(ctx, nowMs);
  const decision = expire(heartbeat, before, { nowMs, away, isQuiet, rollout });
  await commitDecision(ctx, given, { before, decision, results: [], nowMs });
  return null;
}

/**
 * Called whenever a worker starts: an alarm that was lost, or whose time is over, is set anew, as is one
 * that is too late by a definition that has changed.
 */
export async function ensure(ctx: ObjectContext, given: HeartbeatCall): Promise<null> {
  const { heartbeat } = given;
  await begin(ctx, heartbeat);
  const alarm = await alarms.read(ctx);
  const nowMs = await ctx.date.now();
  const isLost = alarm === null || alarm.atMs + lostAfterMs < nowMs;
  if (isLost) await look(ctx, given);
  else await rearm(ctx, heartbeat, nowMs);
  return null;
}

const lostAfterMs = 2_000;

async function look(ctx: ObjectContext, given: HeartbeatCall): Promise<void> {
  const { heartbeat, parts } = given;
  const known = await readState(ctx);
  if (known === null) return;
  const lastPingAtMs = heardAtMs(known);
  const toldAtMs = await readToldAtMs(ctx);
  // The time with it: one step less for each deadline of each heartbeat.
  const dueMs = dueAtMs(heartbeat, known);
  const seen = await ctx.run("look-for-pings", async () => {
    const { absences, ...found } = await parts.inbox.look({
      id: heartbeat.id,
      lastPingAtMs,
      toldAtMs,
    });
    const { spans, isDoubtful } = absences;
    return { ...found, away: findAway(spans, dueMs), isDoubtful, nowMs: Date.now() };
  });
  const { lastPingAtMs: pingAtMs, tellingAtMs, nowMs } = seen;
  if (tellingAtMs !== null) {
    await lookAfterTelling(ctx, { toldAtMs: tellingAtMs, nowMs });
    return;
  }
  if (pingAtMs !== null && pingAtMs > (notAhead(lastPingAtMs, nowMs) ?? 0)) {
    const right = setRight(known, { nowMs, fromMs: pingAtMs - 1 });
    await takeSeen(ctx, given, { known: right, pingAtMs, nowMs });
    return;
  }
  if (seen.isDoubtful && canExpire(heartbeat, known, nowMs)) {
    await lookSoon(ctx, nowMs);
    return;
  }
  const isQuiet = await isQuietAt(ctx, nowMs);
  const right = setRight(known, { nowMs, fromMs: nowMs });
  const decision = await withRollout(ctx, parts.readRollout, (rollout) =>
    expire(heartbeat, right, { nowMs, away: seen.away, isQuiet, rollout }),
  );
  await commitDecision(ctx, given, { before: known, decision, results: [], nowMs });
}

type SeenPing = { known: HeartbeatState; pingAtMs: number; nowMs: number };

/** A ping that the object was not told of. */
async function takeSeen(ctx: ObjectContext, given: HeartbeatCall, seen: SeenPing): Promise<void> {
  const { known, pingAtMs, nowMs } = seen;
  const success = { kind: "success", atMs: pingAtMs } as const;
  // Of one that was ok the ping is recorded already.
  if (!isPlain(known)) {
    await ping(ctx, given, success);
    return;
  }
  const decision = {
    state: withPing(given.heartbeat, known, pingAtMs),
    transition: null,
  };
  await commitDecision(ctx, given, { before: known, decision, results: [], nowMs });
}

/** Ends the watch, since nothing is amiss any more; a ping that came meanwhile is taken first. */
async function release(
  ctx: ObjectContext,
  given: HeartbeatCall,
  state: HeartbeatState,
): Promise<void> {
  const { id } = given.heartbeat;
  const { lastPingAtMs } = state;
  const toldAtMs = await readToldAtMs(ctx);
  const found = await ctx.run("release", () =>
    given.parts.inbox.release({ id, lastPingAtMs, toldAtMs }),
  );
  const { lastPingAtMs: pingAtMs, tellingAtMs } = found;
  if (tellingAtMs !== null) {
    await lookAfterTelling(ctx, { toldAtMs: tellingAtMs, nowMs: await ctx.date.now() });
    return;
  }
  if (pingAtMs !== null && pingAtMs > (lastPingAtMs ?? 0)) {
    await ping(ctx, given, { kind: "success", atMs: pingAtMs });
  }
}

async function isQuietAt(ctx: ObjectContext, atMs: number): Promise<boolean> {
  return quietUntilMs(await readQuiet(ctx), atMs) !== null;
}

type Outcome = {
  before: HeartbeatState;
  decision: Decision<HeartbeatState>;
  results: CheckResult[];
  nowMs: number;
};

/** State, event and records leave together; then nobody need be told of what is plainly ok. */
async function commitDecision(
  ctx: ObjectContext,
  given: HeartbeatCall,
  { before, decision, results, nowMs }: Outcome,
): Promise<void> {
  const { heartbeat } = given;
  const { state, transition } = decision;
  writeState(ctx, state);
  if (transition !== null) handOver(ctx, heartbeat, transition);
  await rearm(ctx, heartbeat, nowMs);
  const isNews = results.length > 0 || !isPlain(before) || !isPlain(state);
  if (isNews) {
    const snapshot = await snapshotOf(ctx, heartbeat, nowMs);
    const entry = { results, snapshot, ...(transition !== null && { transition }) };
    writeDown(ctx, heartbeat.id, entry);
  }
  if (isPlain(state)) await release(ctx, given, state);
}
