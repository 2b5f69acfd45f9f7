/** Handles a deadline of a heartbeat that may have passed. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { isAhead } from "#kernel/time.ts";
import type { HeartbeatState } from "#monitor/contract.ts";
import type { AlarmCall, DeadlinePassed } from "#monitor/internal.ts";
import { findAway } from "#monitor/rules/absences.ts";
import { canExpire, dueAtMs, expire } from "#monitor/rules/deadline.ts";
import { heardAtMs } from "#monitor/rules/occurrences.ts";
import { setRight } from "#monitor/rules/set-right.ts";
import { withDependencies } from "#monitor/transitions/with-dependencies.ts";
import { isPlain, rearm, wakeSoon, wakeWhenDelivered } from "./alarm.ts";
import { ensureState, type HeartbeatCall } from "./commit.ts";
import { alarms, readReceivedAtMs, readState, recordReceived } from "./state.ts";
import { finish, isQuietAt, takeSuccess, withPing } from "./take-ping.ts";

/** The alarm: a deadline, the end of a mute, or one more look while an alert is open. */
export async function wake(
  ctx: ObjectContext,
  call: HeartbeatCall,
  { generation, toldAtMs }: AlarmCall,
): Promise<null> {
  if (toldAtMs !== undefined) await recordReceived(ctx, toldAtMs);
  const before = await alarms.readCurrent(ctx, generation);
  if (before === null) return null;
  // Used up, even if it rang a moment early. A repeat of this call after an upgrade still finds it.
  alarms.update(ctx, { ...before, atMs: 0 });
  await poll(ctx, call);
  return null;
}

/** No ping came by the deadline of a heartbeat that was ok; the deadline watch has set `is_watched`. */
export async function overdue(
  ctx: ObjectContext,
  call: HeartbeatCall,
  { lastPingAtMs, atMs: nowMs, away, rollout }: DeadlinePassed,
): Promise<null> {
  const { heartbeat } = call;
  // Postgres knows no cron: it asks at each of its times whether a ping came for it.
  if (heartbeat.schedule !== undefined) {
    await ensureState(ctx, heartbeat, lastPingAtMs);
    return pollNow(ctx, call);
  }
  let known = await ensureState(ctx, heartbeat, lastPingAtMs);
  // This call may be old, so the present time decides. It is a step of the journal: only where it matters.
  if (isAhead(heardAtMs(known), nowMs)) {
    const clockMs = await ctx.date.now();
    known = setRight(heartbeat, known, { nowMs: clockMs, fromMs: (lastPingAtMs ?? clockMs) - 1 });
  }
  if (!isPlain(known)) {
    // The call came twice, or it carries a ping whose own call was lost.
    const isNews = lastPingAtMs !== known.lastPingAtMs;
    if (lastPingAtMs === null || !isNews || lastPingAtMs < heardAtMs(known))
      return ensure(ctx, call);
    return takeSuccess(ctx, call, lastPingAtMs);
  }
  // Also when the state has a later ping: the deadline watch has begun a watch, and only this ends it.
  const before = lastPingAtMs === null ? known : withPing(heartbeat, known, lastPingAtMs);
  const isQuiet = await isQuietAt(ctx, nowMs);
  const opening = { check: heartbeat, before, isQuiet, atMs: nowMs, runAtMs: nowMs };
  const decision = await withDependencies(ctx, opening, {
    rollout,
    decide: (how) => expire(heartbeat, before, { nowMs, away, ...how }),
  });
  await finish(ctx, call, { before, decision, results: [], nowMs });
  return null;
}

/**
 * Called whenever a worker starts: sets an alarm that was lost or is overdue, and one that a changed
 * definition makes too late.
 */
export async function ensure(ctx: ObjectContext, call: HeartbeatCall): Promise<null> {
  const { heartbeat } = call;
  await ensureState(ctx, heartbeat);
  const alarm = await alarms.read(ctx);
  const nowMs = await ctx.date.now();
  const isLost = alarm === null || alarm.atMs + lostAfterMs < nowMs;
  if (isLost) await poll(ctx, call);
  else await rearm(ctx, heartbeat, nowMs);
  return null;
}

const lostAfterMs = 2_000;

/** Looks at once, whatever the alarm is set to: the deadline of before is void. */
export async function pollNow(ctx: ObjectContext, call: HeartbeatCall): Promise<null> {
  await poll(ctx, call);
  return null;
}

/** Takes a ping that the object does not know of; without one the deadline may have passed. */
async function poll(ctx: ObjectContext, call: HeartbeatCall): Promise<void> {
  const { heartbeat, parts } = call;
  const known = await readState(ctx);
  if (known === null) return;
  const seen = await readInbox(ctx, call, known);
  const { lastPingAtMs: pingAtMs, tellingAtMs, nowMs } = seen;
  if (tellingAtMs !== null) {
    await wakeWhenDelivered(ctx, { tellingAtMs, nowMs });
    return;
  }
  if (pingAtMs !== null && pingAtMs > (isAhead(heardAtMs(known), nowMs) ? 0 : heardAtMs(known))) {
    const right = setRight(heartbeat, known, { nowMs, fromMs: pingAtMs - 1 });
    await takeFound(ctx, call, { known: right, pingAtMs, nowMs });
    return;
  }
  if (seen.isDoubtful && canExpire(heartbeat, known, nowMs)) {
    await wakeSoon(ctx, nowMs);
    return;
  }
  const isQuiet = await isQuietAt(ctx, nowMs);
  const right = setRight(heartbeat, known, { nowMs, fromMs: nowMs });
  const opening = { check: heartbeat, before: right, isQuiet, atMs: nowMs, runAtMs: nowMs };
  const decision = await withDependencies(ctx, opening, {
    readRollout: parts.readRollout,
    decide: (how) => expire(heartbeat, right, { nowMs, away: seen.away, ...how }),
  });
  await finish(ctx, call, { before: known, decision, results: [], nowMs });
}

/** Reads the time in the same step: one step less for each deadline of each heartbeat. */
async function readInbox(
  ctx: ObjectContext,
  { heartbeat, parts }: HeartbeatCall,
  known: HeartbeatState,
) {
  const lastPingAtMs = heardAtMs(known);
  const receivedAtMs = await readReceivedAtMs(ctx);
  const dueMs = dueAtMs(heartbeat, known);
  return ctx.run("look-for-pings", async () => {
    const { absences, ...found } = await parts.inbox.poll({
      id: heartbeat.id,
      lastPingAtMs,
      receivedAtMs,
    });
    const { spans, isDoubtful } = absences;
    return { ...found, away: findAway(spans, dueMs), isDoubtful, nowMs: Date.now() };
  });
}

type FoundPing = { known: HeartbeatState; pingAtMs: number; nowMs: number };

/** A ping of a heartbeat that was ok is recorded already; any other is taken as if it had been sent. */
async function takeFound(ctx: ObjectContext, call: HeartbeatCall, found: FoundPing): Promise<void> {
  const { known, pingAtMs, nowMs } = found;
  if (!isPlain(known)) {
    await takeSuccess(ctx, call, pingAtMs);
    return;
  }
  const decision = { state: withPing(call.heartbeat, known, pingAtMs), transition: null };
  await finish(ctx, call, { before: known, decision, results: [], nowMs });
}
