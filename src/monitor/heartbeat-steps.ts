/** What the object of a heartbeat does: takes pings, wakes at deadlines, alerts. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { CheckResult, Heartbeat, HeartbeatState } from "./contract.ts";
import { expire, heardAtMs, newHeartbeatState, takePing } from "./deadline.ts";
import { isPlain, rearm } from "./heartbeat-alarm.ts";
import { resultsOf, snapshotOf, writeSnapshot } from "./heartbeat-records.ts";
import { readAlarm, readQuiet, readState, writeAlarm, writeState } from "./heartbeat-state.ts";
import type { DeadlinePassed, ToldPing } from "./internal.ts";
import type { MonitorParts } from "./parts.ts";
import { quietUntilMs } from "./quiet.ts";
import { handOver, withRollout, writeDown } from "./settle.ts";
import type { Decision } from "./verdict.ts";

type Given = { heartbeat: Heartbeat; parts: MonitorParts };

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
export async function ping(ctx: ObjectContext, given: Given, received: ToldPing): Promise<null> {
  const { heartbeat, parts } = given;
  await begin(ctx, heartbeat, received.atMs);
  await catchUp(ctx, given, received);
  const known = await readState(ctx);
  if (known === null) return null;
  // One that begins or fails is watched from here on: its next ping is of more than a deadline.
  const isNews = received.kind !== "success" && isPlain(known);
  const unheard = isNews ? await watch(ctx, given, known) : [];
  const before = withPings(
    heartbeat,
    known,
    unheard.filter((atMs) => atMs < received.atMs),
  );
  const nowMs = await ctx.date.now();
  const isQuiet = await isQuietAt(ctx, nowMs);
  const decision = await withRollout(ctx, parts, (rollout) =>
    takePing(heartbeat, before, { ping: received, isQuiet, rollout }),
  );
  const results = resultsOf(heartbeat, received, before);
  await settle(ctx, given, { before, decision, results, nowMs });
  for (const atMs of unheard.filter((unheardMs) => unheardMs >= received.atMs)) {
    await ping(ctx, given, { kind: "success", atMs });
  }
  return null;
}

/** A success before this ping whose notice was lost ends an episode, which this one must not go on with. */
async function catchUp(
  ctx: ObjectContext,
  given: Given,
  { heardAtMs: successAtMs = null, atMs }: ToldPing,
): Promise<void> {
  const known = await readState(ctx);
  if (known === null || successAtMs === null || isPlain(known)) return;
  const isLost = successAtMs > heardAtMs(known) && successAtMs < atMs;
  if (isLost) await ping(ctx, given, { kind: "success", atMs: successAtMs });
}

/** From here on the object is told of every ping. Answers those that it was not told of, in order. */
async function watch(
  ctx: ObjectContext,
  { heartbeat: { id }, parts }: Given,
  state: HeartbeatState,
): Promise<number[]> {
  const pings: number[] = [];
  for (;;) {
    const known = pings.at(-1) ?? heardAtMs(state);
    const seen = await ctx.run("look-for-pings", () =>
      parts.inbox.look({ id, lastPingAtMs: known }),
    );
    if (seen.lastPingAtMs === null || seen.lastPingAtMs <= known) return pings;
    pings.push(seen.lastPingAtMs);
  }
}

/** Pings of a heartbeat that is ok: they are recorded already, and move its deadline. */
function withPings(
  heartbeat: Heartbeat,
  state: HeartbeatState,
  pings: readonly number[],
): HeartbeatState {
  return pings.reduce((moved, atMs) => {
    const success = { kind: "success", atMs } as const;
    return takePing(heartbeat, moved, { ping: success, isQuiet: true, rollout: null }).state;
  }, state);
}

/** The alarm: a deadline, the end of a mute, or one more look while an alert is open. */
export async function wake(ctx: ObjectContext, given: Given, generation: number): Promise<null> {
  const alarm = await readAlarm(ctx);
  if (alarm?.generation !== generation) return null;
  // Used up, also when it rang a moment early.
  writeAlarm(ctx, { generation, atMs: 0 });
  await look(ctx, given);
  return null;
}

/** No ping came by the deadline of one that was ok; whoever looked for it set the watch already. */
export async function overdue(
  ctx: ObjectContext,
  given: Given,
  { lastPingAtMs, atMs: nowMs, away, rollout }: DeadlinePassed,
): Promise<null> {
  const { heartbeat } = given;
  const known = await begin(ctx, heartbeat, lastPingAtMs);
  if (!isPlain(known)) {
    // Told twice, or of a ping whose own notice was lost.
    const isNews = lastPingAtMs !== known.lastPingAtMs;
    if (lastPingAtMs === null || !isNews || lastPingAtMs < heardAtMs(known))
      return ensure(ctx, given);
    return ping(ctx, given, { kind: "success", atMs: lastPingAtMs });
  }
  // Also one who knows of a later ping says so: whoever looked has begun a watch that nobody else ends.
  const before = lastPingAtMs === null ? known : withPings(heartbeat, known, [lastPingAtMs]);
  const isQuiet = await isQuietAt(ctx, nowMs);
  const decision = expire(heartbeat, before, { nowMs, away, isQuiet, rollout });
  await settle(ctx, given, { before, decision, results: [], nowMs });
  return null;
}

/**
 * Called whenever a worker starts: an alarm that was lost, or whose time is over, is set anew, as is one
 * that is too late by a definition that has changed.
 */
export async function ensure(ctx: ObjectContext, given: Given): Promise<null> {
  const { heartbeat } = given;
  await begin(ctx, heartbeat);
  const alarm = await readAlarm(ctx);
  const nowMs = await ctx.date.now();
  const isLost = alarm === null || alarm.atMs + lostAfterMs < nowMs;
  if (isLost) await look(ctx, given);
  else await rearm(ctx, heartbeat, nowMs);
  return null;
}

const lostAfterMs = 2_000;

async function look(ctx: ObjectContext, given: Given): Promise<void> {
  const { heartbeat, parts } = given;
  const known = await readState(ctx);
  if (known === null) return;
  const lastPingAtMs = heardAtMs(known);
  // The time with it: one step less for each deadline of each heartbeat.
  const seen = await ctx.run("look-for-pings", async () => {
    const found = await parts.inbox.look({ id: heartbeat.id, lastPingAtMs });
    return { ...found, nowMs: Date.now() };
  });
  const { lastPingAtMs: pingAtMs, nowMs } = seen;
  if (pingAtMs !== null && pingAtMs > lastPingAtMs) {
    await takeSeen(ctx, given, { known, pingAtMs, nowMs });
    return;
  }
  const isQuiet = await isQuietAt(ctx, nowMs);
  const decision = await withRollout(ctx, parts, (rollout) =>
    expire(heartbeat, known, { nowMs, away: seen.away, isQuiet, rollout }),
  );
  await settle(ctx, given, { before: known, decision, results: [], nowMs });
}

type SeenPing = { known: HeartbeatState; pingAtMs: number; nowMs: number };

/** A ping that the object was not told of. */
async function takeSeen(ctx: ObjectContext, given: Given, seen: SeenPing): Promise<void> {
  const { known, pingAtMs, nowMs } = seen;
  const success = { kind: "success", atMs: pingAtMs } as const;
  // Of one that was ok the ping is recorded already.
  if (!isPlain(known)) {
    await ping(ctx, given, success);
    return;
  }
  const decision = {
    state: withPings(given.heartbeat, known, [pingAtMs]),
    transition: null,
  };
  await settle(ctx, given, { before: known, decision, results: [], nowMs });
}

/** Ends the watch, since nothing is amiss any more; a ping that came meanwhile is taken first. */
async function release(ctx: ObjectContext, given: Given, state: HeartbeatState): Promise<void> {
  const { id } = given.heartbeat;
  const { lastPingAtMs } = state;
  const pingAtMs = await ctx.run("release", () => given.parts.inbox.release({ id, lastPingAtMs }));
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
async function settle(
  ctx: ObjectContext,
  given: Given,
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
