/** What the object of a heartbeat does: takes pings, wakes at deadlines, alerts. */
import { type ObjectContext, rpc } from "@restatedev/restate-sdk";
import type { CheckResult, CheckSnapshot, Heartbeat, HeartbeatState, Ping } from "./contract.ts";
import { dueAtMs, expire, newHeartbeatState, takePing, wakeAtMs } from "./deadline.ts";
import { noPhases } from "./grade.ts";
import { readAlarm, readQuiet, readState, writeAlarm, writeState } from "./heartbeat-state.ts";
import { heartbeatObject } from "./internal.ts";
import type { MonitorParts } from "./parts.ts";
import { quietUntilMs } from "./quiet.ts";
import { handOver, withRollout, writeDown } from "./settle.ts";
import type { Decision } from "./verdict.ts";

type Given = { heartbeat: Heartbeat; parts: MonitorParts };

/** Begins to wait: the first deadline counts from here. */
export async function begin(ctx: ObjectContext, heartbeat: Heartbeat): Promise<void> {
  if ((await readState(ctx)) !== null) return;
  const nowMs = await ctx.date.now();
  writeState(ctx, newHeartbeatState(nowMs));
  await rearm(ctx, heartbeat, nowMs);
  await writeSnapshot(ctx, heartbeat, nowMs);
}

/** A ping that the object was told of: the heartbeat is not plainly ok, or the ping is not plain. */
export async function ping(ctx: ObjectContext, given: Given, received: Ping): Promise<null> {
  const { heartbeat, parts } = given;
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
  const { state } = decision;
  const results = resultsOf(heartbeat, received, before);
  await settle(ctx, given, { before, decision, results, nowMs });
  if (isPlain(state)) await release(ctx, given, state);
  for (const atMs of unheard.filter((unheardMs) => unheardMs >= received.atMs)) {
    await ping(ctx, given, { kind: "success", atMs });
  }
  return null;
}

/** From here on the object is told of every ping. Answers those that it was not told of, in order. */
async function watch(
  ctx: ObjectContext,
  { heartbeat: { id }, parts }: Given,
  { lastPingAtMs }: HeartbeatState,
): Promise<number[]> {
  const pings: number[] = [];
  for (;;) {
    const known = pings.at(-1) ?? lastPingAtMs;
    const seen = await ctx.run("look-for-pings", () =>
      parts.inbox.look({ id, lastPingAtMs: known }),
    );
    if (seen.lastPingAtMs === null || seen.lastPingAtMs <= (known ?? 0)) return pings;
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

/** Called whenever a worker starts: an alarm that was lost, or whose time is over, is set anew. */
export async function ensure(ctx: ObjectContext, given: Given): Promise<null> {
  const alarm = await readAlarm(ctx);
  const isLost = alarm === null || alarm.atMs + lostAfterMs < (await ctx.date.now());
  if (isLost) await look(ctx, given);
  return null;
}

const lostAfterMs = 2_000;

async function look(ctx: ObjectContext, given: Given): Promise<void> {
  const { heartbeat, parts } = given;
  const known = await readState(ctx);
  if (known === null) return;
  const { lastPingAtMs } = known;
  // The time with it: one step less for each deadline of each heartbeat.
  const seen = await ctx.run("look-for-pings", async () => {
    const found = await parts.inbox.look({ id: heartbeat.id, lastPingAtMs });
    return { ...found, nowMs: Date.now() };
  });
  const { lastPingAtMs: pingAtMs, nowMs } = seen;
  if (pingAtMs !== null && pingAtMs > (lastPingAtMs ?? 0)) {
    await takeSeen(ctx, given, { known, pingAtMs, nowMs });
    return;
  }
  const isQuiet = await isQuietAt(ctx, nowMs);
  const decision = await withRollout(ctx, parts, (rollout) =>
    expire(heartbeat, known, { nowMs, away: seen.away, isQuiet, rollout }),
  );
  await settle(ctx, given, { before: known, decision, results: [], nowMs });
  if (isPlain(decision.state)) await release(ctx, given, decision.state);
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
  // Everything was down for long: this deadline, too, is over. The next look begins the watch.
  if (dueAtMs(given.heartbeat, decision.state) <= nowMs) await look(ctx, given);
}

/** Ends the watch that the look, or whatever was amiss, has begun. */
async function release(
  ctx: ObjectContext,
  { heartbeat: { id }, parts }: Given,
  { lastPingAtMs }: HeartbeatState,
): Promise<void> {
  await ctx.run("release", () => parts.inbox.release({ id, lastPingAtMs }));
}

/** Whether pings need not be told: each would only move the deadline. */
function isPlain({ status, alert, startedAtMs, held }: HeartbeatState): boolean {
  return status === "ok" && alert === null && startedAtMs === null && held === null;
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

async function settle(
  ctx: ObjectContext,
  { heartbeat }: Given,
  { before, decision, results, nowMs }: Outcome,
): Promise<void> {
  const { state, transition } = decision;
  writeState(ctx, state);
  if (transition !== null) handOver(ctx, heartbeat, transition);
  await rearm(ctx, heartbeat, nowMs);
  const isNews = results.length > 0 || !isPlain(before) || !isPlain(state);
  if (!isNews) return;
  const snapshot = await snapshotOf(ctx, heartbeat, nowMs);
  writeDown(ctx, heartbeat.id, {
    results,
    snapshot,
    ...(transition !== null && { transition }),
  });
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
  if (state === null) return;
  const alarm = await readAlarm(ctx);
  const quiet = await readQuiet(ctx);
  const wakeMs = wakeAtMs(heartbeat, state, { quiet, nowMs }) ?? nowMs + lookAgainMs;
  // The end of a mute may be centuries away, where no timer reaches.
  const atMs = Math.min(wakeMs, nowMs + longestDelayMs);
  if (alarm !== null && alarm.atMs > nowMs && alarm.atMs <= atMs) return;
  const generation = (alarm?.generation ?? 0) + 1;
  writeAlarm(ctx, { generation, atMs });
  const delay = Math.max(0, atMs - nowMs);
  ctx.sendClient(heartbeatObject, ctx.key).expire({ generation }, rpc.sendOpts({ delay }));
}

const longestDelayMs = 400 * 86_400_000;

/** A start says nothing of how the job went, and only after one is known how long it took. */
function resultsOf(
  heartbeat: Heartbeat,
  received: Ping,
  { startedAtMs }: HeartbeatState,
): CheckResult[] {
  if (received.kind === "start") return [];
  const isOk = received.kind === "success";
  const code = isOk || received.exitCode === null ? "" : ` (exit code ${received.exitCode})`;
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
      reason: isOk ? null : `the job said that it failed${code}`,
      tlsDaysLeft: null,
    },
  ];
}

export async function writeSnapshot(
  ctx: ObjectContext,
  heartbeat: Heartbeat,
  nowMs: number,
): Promise<void> {
  writeDown(ctx, ctx.key, { snapshot: await snapshotOf(ctx, heartbeat, nowMs) });
}

async function snapshotOf(
  ctx: ObjectContext,
  heartbeat: Heartbeat,
  takenAtMs: number,
): Promise<CheckSnapshot> {
  const state = (await readState(ctx)) ?? newHeartbeatState(takenAtMs);
  const { status, sinceMs, lastPingAtMs, lastDurationMs, alert } = state;
  return {
    checkId: heartbeat.id,
    kind: "heartbeat",
    takenAtMs,
    status,
    sinceMs,
    lastAtMs: lastPingAtMs,
    lastDurationMs,
    dueAtMs: alert === null ? dueAtMs(heartbeat, state) : null,
    alert,
    quiet: await readQuiet(ctx),
    locations: {},
  };
}
