/** The exclusive handlers by which a run freezes the fleet, and ends. Short, because they block the key. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { RollbackResult } from "#rollout/contract.ts";
import type {
  CaptureRequest,
  CaptureTask,
  Freeze,
  RunEnd,
  RunResult,
  VersionStop,
} from "#rollout/internal.ts";
import { targetsOf } from "#rollout/rules/outcome.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { logFields } from "#rollout/rules/spans.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import { toResult } from "#rollout/services/run.ts";
import {
  type Batch,
  inlineListLimit,
  type RolloutHead,
  readBatch,
  readHead,
  readOutcome,
  type SizedBatch,
  startBatch,
  writeHead,
} from "#rollout/state.ts";
import { announce, stamp } from "./announce.ts";
import { toRollbackResult } from "./answer.ts";
import { closeLostBatches } from "./batches.ts";
import { stopWork } from "./runs.ts";
import { isDue, type OrderStop, rollBackAutomatically } from "./stop.ts";
import { currentRollout, readRollout, type SavedRollout, statusOfForgotten } from "./superseded.ts";

/** Finds sentinels without a result at the end of a rollback: not tried, or their deploy is in flight. */
const reason = "no result: the rollback ended without one";

/** Adds them to the head's `notReverted`, because they have, or may have, the new image. */
async function withUnresolved(
  ctx: Pick<ObjectContext, "get">,
  head: RolloutHead,
): Promise<RolloutHead> {
  const listed = new Map(head.notReverted.map((one) => [one.id, one]));
  for (const { batch: n } of head.waves.slice(0, head.currentWave).flatMap(batchesOf)) {
    if (listed.size >= inlineListLimit) break;
    const batch = await readBatch(ctx, n);
    const outcome = await readOutcome(ctx, n);
    if (batch === null || outcome === null) continue;
    // While the rollback still waits, open batches are the rollout's own, which deploy the new image.
    const open = outcome.open && head.drain !== undefined;
    const { image, includeFailed } = head;
    const run = { kind: "rollback", image, includeFailed } as const;
    for (const { id } of targetsOf(batch, { ...outcome, open }, run)) {
      if (!listed.has(id)) listed.set(id, { id, reason });
    }
  }
  return { ...head, notReverted: [...listed.values()].slice(0, inlineListLimit) };
}

/** Returns for what the fleet is to be frozen; null when it is frozen already, or the rollout no longer runs. */
export async function toCapture(
  ctx: ObjectContext,
  { rolloutId, runner }: CaptureRequest,
): Promise<CaptureTask> {
  const head = await readHead(ctx);
  const isWanted = head?.rolloutId === rolloutId && head.state === "in_progress";
  if (head === null || !isWanted || head.runner !== runner) return null;
  if (head.captured) return null;
  const { image, wavePercentages, policy, unchecked } = head;
  return { image, wavePercentages, policy, ...(unchecked !== undefined && { unchecked }) };
}

type StoreBatches = { rolloutId: string; first: number; batches: Batch[] };

export async function storeBatches(ctx: ObjectContext, request: StoreBatches): Promise<null> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== request.rolloutId || head.captured) return null;
  for (const [i, batch] of request.batches.entries()) startBatch(ctx, request.first + i, batch);
  return null;
}

/** Writes the waves into the head, after `storeBatches`. False: another capture was first, or it is not current. */
export async function freeze(ctx: ObjectContext, request: Freeze): Promise<boolean> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== request.rolloutId || head.captured) return false;
  const { waves, inline } = request;
  const total = waves.reduce((sum, wave) => sum + wave.size, 0);
  const frozen = { ...head, ...inline, waves, total, totalWaves: waves.length, captured: true };
  writeHead(ctx, await stamp(ctx, frozen));
  return true;
}

/** The batches that a rollback goes through: those of every wave that has begun. */
export async function rollbackBatches(
  ctx: ObjectContext,
  request: { rolloutId: string },
): Promise<SizedBatch[]> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== request.rolloutId) return [];
  const { drain: _waitedFor, ...ready } = head;
  const rollout = currentRollout(ctx, ready);
  rollout.write(await closeLostBatches(ctx, rollout, Object.keys(head.openBatches)));
  return head.waves.slice(0, head.currentWave).flatMap(batchesOf);
}

export async function endRollback(
  ctx: ObjectContext,
  request: { rolloutId: string },
): Promise<RollbackResult> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== request.rolloutId || head.state !== "rolling_back") {
    return resultOf(ctx, request.rolloutId);
  }
  const isWhole = head.succeeded === head.notReverted.length && isEmpty(head.openBatches);
  const closed = await closeLostBatches(
    ctx,
    currentRollout(ctx, head),
    Object.keys(head.openBatches),
  );
  const complete = isWhole ? closed : await withUnresolved(ctx, closed);
  const ended: RolloutHead = { ...complete, state: "cancelled", openBatches: {} };
  return toRollbackResult(await announce(ctx, ended, "rollback completed"));
}

function isEmpty(openBatches: RolloutHead["openBatches"]): boolean {
  return Object.keys(openBatches).length === 0;
}

/** Called when a run has ended early: without this the rollout would look as if it still ran. */
export async function runnerEnded(
  ctx: ObjectContext,
  request: RunEnd,
  orders: OrderStop,
): Promise<RunResult> {
  const head = await readHead(ctx);
  const isOurs = head?.rolloutId === request.rolloutId && head.runner === request.runner;
  // The call that stopped the rollout may have been killed before it started the rollback.
  if (head !== null && isOurs && isDue(head)) await rollBackAutomatically(ctx, orders);
  if (head === null || !isOurs || !isRunning(head.state)) return resultOf(ctx, request.rolloutId);
  const { failure: reason, cause } = request;
  return toRollbackResult(await endEarly(ctx, { ...head, reason, cause }));
}

/** The result of this rollout, or its last known one when it is superseded. */
async function resultOf(ctx: ObjectContext, rolloutId: string): Promise<RunResult> {
  const rollout = await readRollout(ctx, rolloutId);
  if (rollout !== null) {
    const { automaticRollback: followedBy } = rollout.head;
    const result = toRollbackResult(await withLateResults(ctx, rollout));
    return { ...result, ...(followedBy !== undefined && { followedBy }) };
  }
  return toResult(statusOfForgotten(rolloutId));
}

/** After a rollback that ended early more results may have come; sentinels without one are added. */
async function withLateResults(
  ctx: ObjectContext,
  { head, isCurrent }: SavedRollout,
): Promise<RolloutHead> {
  const hasEnded = isCurrent && head.state === "cancelled" && head.revertedBefore !== undefined;
  return hasEnded ? withUnresolved(ctx, head) : head;
}

/** Ends a run early: a rollout pauses; a rollback is over, and RollbackAll may be called again. */
async function endEarly(ctx: ObjectContext, head: RolloutHead): Promise<RolloutHead> {
  stopWork(ctx, head);
  const { rolloutId, reason, startedBy: by } = head;
  ctx.console.warn("rollout run ended early", { rolloutId, reason, by, ...logFields(head) });
  return head.state === "rolling_back"
    ? announce(
        ctx,
        { ...(await withUnresolved(ctx, head)), state: "cancelled" },
        "rollback completed",
      )
    : announce(ctx, { ...head, state: "paused" }, "paused");
}

/** Ends the run when one of its invocations was begun by another version and cannot continue. */
export async function stopForVersion(ctx: ObjectContext, request: VersionStop): Promise<null> {
  const head = await readHead(ctx);
  if (head === null || !isBlocked(head, request.involved)) return null;
  const from = request.from.filter((one) => one !== request.to).join(", ") || "another one";
  const reason = `the program changed from revision ${from} to ${request.to} meanwhile, and what was running cannot continue; ${nextAfter(head)}`;
  await endEarly(ctx, { ...head, reason, cause: "version" });
  return null;
}

/** Also when it is paused already, because a waiting invocation has reported the end of the run first. */
function isBlocked(head: RolloutHead, involved: readonly string[]): boolean {
  const own = [head.runner, ...Object.values(head.openBatches).map((open) => open.invocation)];
  const isOpen = isRunning(head.state) || (head.state === "paused" && head.cause === "run");
  return isOpen && own.some((id) => involved.includes(id));
}

function nextAfter(head: RolloutHead): string {
  return head.state === "rolling_back"
    ? "RollbackAll reverts the remaining sentinels"
    : "Resume continues with the sentinels that have no result yet";
}
