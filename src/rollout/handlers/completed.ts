/** Watches a completed rollout for as long as its request asks (`watch_for`): a fault is announced, and perhaps rolled back. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { toIso } from "#kernel/time.ts";
import type { Stop } from "#rollout/conditions/condition.ts";
import { mayStart } from "#rollout/conditions/decide.ts";
import { endedWave, withoutAnyWait } from "#rollout/conditions/wait.ts";
import { closeGates, kindOf } from "#rollout/gates/registry.ts";
import { type CompletedLook, reconciler, type WaitInstruction } from "#rollout/internal.ts";
import { type RolloutHead, readHead, writeHead } from "#rollout/state.ts";
import { announce } from "./announce.ts";
import { waitInstruction } from "./end-wait.ts";
import { withReadings } from "./readings.ts";
import { enterRollback, type OrderStop, stopOrders } from "./stop.ts";

/** The name of the caller of a rollback that follows a fault after the completion. */
const watcher = "watch_for";

/** Returns the head of a rollout that has just completed, watched from now on if it is to be. Its history keeps the last gates. */
export function beginWatch(ctx: Pick<ObjectContext, "set" | "clear">, head: RolloutHead) {
  const { policy, updatedAt: since, succeeded, waves, currentWave, gates = [] } = head;
  const watchMs = (policy.watch_for ?? 0) * 1_000;
  if (watchMs === 0 || succeeded === 0) return head;
  const nowMs = Date.parse(since);
  const kept = gates.filter((gate) => kindOf(gate).isKept);
  const watched: RolloutHead = {
    ...head,
    watchUntil: toIso(nowMs + watchMs),
    wait: { ended: waves.length - 1, since, round: 0 },
    ...(kept.length > 0 && { gateStatus: closeGates(kept, currentWave, nowMs) }),
  };
  writeHead(ctx, watched);
  return watched;
}

/** Returns the rollout whose fault stays announced while the next one runs: its own, or one that nobody has replaced since. */
export function openFault({ state, cause, rolloutId, startedBy, fault }: RolloutHead) {
  if (state !== "completed") return fault;
  if (cause !== undefined) return rolloutId;
  return startedBy === reconciler ? fault : undefined;
}

type WatchedHead = RolloutHead & { watchUntil: string };

function isWatched(head: RolloutHead | null): head is WatchedHead {
  return head?.state === "completed" && head.watchUntil !== undefined;
}

/** Returns what is to be read of the rollout; null: it is not watched. */
export async function toLook(ctx: ObjectSharedContext): Promise<WaitInstruction | null> {
  const head = await readHead(ctx);
  if (!isWatched(head)) return null;
  const nowMs = await ctx.date.now();
  return { ...(await waitInstruction(ctx, head, { nowMs, sleepMs: 0 })), soaks: true };
}

/** Judges what was read, as a soak does. The first fault ends the watch, so that there is one message and one rollback. */
export async function recordLook(
  ctx: ObjectContext,
  { rolloutId, look }: CompletedLook,
  orders: OrderStop,
): Promise<null> {
  const head = await readHead(ctx);
  if (!isWatched(head) || head.rolloutId !== rolloutId) return null;
  // The call that announced the fault was killed before it started the rollback.
  if (head.rollbackDue === true) return rollBack(ctx, head, orders);
  const read = await withReadings(ctx, head, look);
  const nowMs = await ctx.date.now();
  const asked = { next: { kind: "end" }, windows: "stale", fleet: "stale", nowMs } as const;
  const verdict = mayStart({ ...asked, head: read, wave: endedWave(read) });
  if (verdict.action === "stop") return recordFault(ctx, read, { verdict, orders });
  writeHead(ctx, isOver(read, nowMs) ? withoutWatch(withoutAnyWait(read)) : read);
  return null;
}

/** The time for which a suspect that was found at the end is looked at once more. */
const lastLooksMs = 300_000;

function isOver({ watchUntil = "", wait }: RolloutHead, nowMs: number): boolean {
  const overMs = nowMs - Date.parse(watchUntil);
  return overMs >= ((wait?.suspects ?? []).length === 0 ? 0 : lastLooksMs);
}

function withoutWatch({ watchUntil: _, ...head }: RolloutHead): RolloutHead {
  return head;
}

async function recordFault(
  ctx: ObjectContext,
  { wait: _, ...head }: RolloutHead,
  { verdict, orders }: { verdict: Stop; orders: OrderStop },
): Promise<null> {
  const { cause, isOfImage, rollsBack = false } = verdict;
  const fresh = head.waves.reduce((sum, wave) => sum + wave.failed - wave.passedOver, 0);
  const failed = `${fresh} ${fresh === 1 ? "sentinel does" : "sentinels do"} not run the image well`;
  const reason = `after its completion: ${verdict.reason ?? failed}`;
  const followsRollback = rollsBack || (isOfImage && head.policy.on_failure === "rollback");
  const faulted: RolloutHead = followsRollback
    ? { ...head, cause, reason, rollbackDue: true }
    : { ...withoutWatch(head), cause, reason };
  const announced = await announce(ctx, faulted, "fault found");
  return followsRollback ? rollBack(ctx, announced, orders) : null;
}

async function rollBack(ctx: ObjectContext, head: RolloutHead, orders: OrderStop): Promise<null> {
  const stopped = (await stopOrders(ctx, orders)) ?? head;
  const includeFailed = head.policy.include_failed === true;
  await enterRollback(ctx, withoutWatch(stopped), { by: watcher, includeFailed });
  return null;
}
