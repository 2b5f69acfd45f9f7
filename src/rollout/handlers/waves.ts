/** The exclusive handlers that a run calls to move the rollout on. Short: they hold the key. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Gate, RollbackResult } from "#rollout/contract.ts";
import type { Advance, Instruction, RunEnd, ToCapture, VersionStop } from "#rollout/internal.ts";
import { newGateStatus } from "#rollout/rules/gate.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { nextStep } from "#rollout/rules/progress.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import {
  type Batch,
  type RolloutHead,
  readHead,
  type SizedBatch,
  startBatch,
  type WaveProgress,
  writeHead,
} from "#rollout/state.ts";
import { withUntold } from "#rollout/untold.ts";
import { announce, stamp } from "./announce.ts";
import { toRollbackResult, toStatus } from "./answer.ts";
import { closeLostBatches } from "./batches.ts";
import { stopWork } from "./operations.ts";
import { currentRollout, type KeptRollout, readRollout, statusOfForgotten } from "./superseded.ts";

/** The run has waited enough. What the fleet is to be frozen for; null when that is done, or the rollout is no longer at work. */
export async function toCapture(
  ctx: ObjectContext,
  request: { rolloutId: string },
): Promise<ToCapture> {
  const head = await readHead(ctx);
  const isWanted = head?.rolloutId === request.rolloutId && head.state === "in_progress";
  if (head === null || !isWanted) return null;
  const { drain: _waitedFor, ...ready } = head;
  writeHead(ctx, ready);
  if (head.captured) return null;
  return { image: head.image, wavePercentages: head.wavePercentages };
}

type StoreBatches = { rolloutId: string; first: number; batches: Batch[] };

export async function storeBatches(ctx: ObjectContext, request: StoreBatches): Promise<null> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== request.rolloutId || head.captured) return null;
  for (const [i, batch] of request.batches.entries()) startBatch(ctx, request.first + i, batch);
  return null;
}

type Freeze = { rolloutId: string; waves: WaveProgress[]; inline: Partial<RolloutHead> };

/** The fleet is frozen: who is in which wave, and every previous image, are written down. */
export async function freeze(ctx: ObjectContext, request: Freeze): Promise<null> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== request.rolloutId || head.captured) return null;
  const { waves, inline } = request;
  const total = waves.reduce((sum, wave) => sum + wave.size, 0);
  const frozen = { ...head, ...inline, waves, total, totalWaves: waves.length, captured: true };
  writeHead(ctx, await stamp(ctx, frozen));
  return null;
}

/** Ends the wave that was run, if any, and says what to do next. */
export async function advance(ctx: ObjectContext, request: Advance): Promise<Instruction> {
  const rollout = await readRollout(ctx, request.rolloutId);
  if (rollout === null) {
    return { action: "stop", status: await statusOfForgotten(ctx, request.rolloutId) };
  }
  const { head } = rollout;
  // Whoever asks has waited for every batch, unless it was stopped: one that is still open was killed.
  const lost = request.isStopped === true ? [] : Object.keys(head.openBatches);
  const settled = await closeLostBatches(ctx, rollout, lost);
  if (!rollout.isCurrent || head.state !== "in_progress") {
    rollout.write(settled);
    return { action: "stop", status: { ...toStatus(settled), state: endedState(head) } };
  }
  const step = nextStep(head.waves, request.finishedWave);
  if (step.action === "pause") {
    const { cause, reason } = step;
    const paused = { ...settled, state: "paused" as const, cause, ...reasonOf(reason) };
    return stopWith(await announce(ctx, paused, "paused"));
  }
  const ended =
    request.finishedWave === undefined ? settled : await announce(ctx, settled, "wave completed");
  if (step.action === "complete") {
    return stopWith(await announce(ctx, { ...ended, state: "completed" }, "completed"));
  }
  return request.finishedWave === undefined || ended.gate === undefined
    ? startWave(ctx, ended, step.waveIndex)
    : closeGate(ctx, { ...ended, gate: ended.gate }, request.finishedWave);
}

export async function startWave(
  ctx: ObjectContext,
  { gateStatus: _, ...head }: RolloutHead,
  waveIndex: number,
): Promise<Instruction> {
  const wave = head.waves[waveIndex] as WaveProgress;
  const currentWave = waveIndex + 1;
  const { rolloutId } = head;
  ctx.console.info("starting wave", { rolloutId, wave: currentWave, size: wave.size });
  await announce(ctx, { ...head, currentWave }, "wave started");
  return { action: "run", waveIndex, batches: batchesOf(wave) };
}

/** From now on the checks are looked at; what they found before says nothing of this wave. */
async function closeGate(
  ctx: ObjectContext,
  head: RolloutHead & { gate: Gate },
  finishedWave: number,
): Promise<Instruction> {
  const { gate } = head;
  const sinceMs = await ctx.date.now();
  writeHead(ctx, { ...head, gateStatus: newGateStatus(gate, finishedWave + 1, sinceMs) });
  return { action: "wait", gate, finishedWave, sinceMs };
}

/** A run that is told to stop while a rollback has begun already was cancelled. */
function endedState(head: RolloutHead): RolloutHead["state"] {
  return head.state === "rolling_back" ? "cancelled" : head.state;
}

/** What a run is told whose rollout is not the current one any more. */
export async function stopSuperseded(ctx: ObjectContext, rolloutId: string): Promise<Instruction> {
  const kept = await readRollout(ctx, rolloutId);
  const status = kept === null ? await statusOfForgotten(ctx, rolloutId) : toStatus(kept.head);
  return { action: "stop", status };
}

export function stopWith(head: RolloutHead): Instruction {
  return { action: "stop", status: toStatus(head) };
}

/** The batches that a rollback looks through: those of every wave that was begun. */
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
  const told = isWhole ? closed : await withUntold(ctx, closed);
  const ended: RolloutHead = { ...told, state: "cancelled", openBatches: {} };
  return toRollbackResult(await announce(ctx, ended, "rollback completed"));
}

function isEmpty(openBatches: RolloutHead["openBatches"]): boolean {
  return Object.keys(openBatches).length === 0;
}

/** A run has ended without leading the rollout to an end: it must not look as if it went on. */
export async function runnerEnded(ctx: ObjectContext, request: RunEnd): Promise<RollbackResult> {
  const head = await readHead(ctx);
  const isOurs = head?.rolloutId === request.rolloutId && head.runner === request.runner;
  if (head === null || !isOurs || !isRunning(head.state)) return resultOf(ctx, request.rolloutId);
  const cause = request.cause ?? (head.captured ? "run" : "fleet");
  return toRollbackResult(await endEarly(ctx, { ...head, reason: request.failure, cause }));
}

/** How this rollout stands, or stood when another followed it. */
async function resultOf(ctx: ObjectContext, rolloutId: string): Promise<RollbackResult> {
  const rollout = await readRollout(ctx, rolloutId);
  if (rollout !== null) return toRollbackResult(await withWhatIsUntold(ctx, rollout));
  return { ...(await statusOfForgotten(ctx, rolloutId)), reverted: 0, not_reverted: [] };
}

/** Of a rollback that ended early results may have come since, which name none but those tried. */
async function withWhatIsUntold(
  ctx: ObjectContext,
  { head, isCurrent }: KeptRollout,
): Promise<RolloutHead> {
  const hasEnded = isCurrent && head.state === "cancelled" && head.revertedBefore !== undefined;
  return hasEnded ? withUntold(ctx, head) : head;
}

/** A run that does not lead to an end: a rollout pauses, a rollback may be asked for once more. */
async function endEarly(ctx: ObjectContext, head: RolloutHead): Promise<RolloutHead> {
  stopWork(ctx, head);
  const { rolloutId, reason } = head;
  ctx.console.warn("rollout run ended early", { rolloutId, reason });
  return head.state === "rolling_back"
    ? announce(ctx, { ...(await withUntold(ctx, head)), state: "cancelled" }, "rollback completed")
    : announce(ctx, { ...head, state: "paused" }, "paused");
}

/** What the rollout has at work was begun by another version of the program and cannot go on. */
export async function stopForVersion(ctx: ObjectContext, request: VersionStop): Promise<null> {
  const head = await readHead(ctx);
  if (head === null || !isHeldUp(head, request.involved)) return null;
  const from = request.from.join(", ") || "another one";
  const reason = `the program changed from revision ${from} to ${request.to} meanwhile, and what was at work cannot go on; ${nextAfter(head)}`;
  await endEarly(ctx, { ...head, reason, cause: "version" });
  return null;
}

/** Also when those who waited for it were quicker to say that it has ended. */
function isHeldUp(head: RolloutHead, involved: readonly string[]): boolean {
  const atWork = [head.runner, ...Object.values(head.openBatches).map((open) => open.invocation)];
  const isOpen = isRunning(head.state) || (head.state === "paused" && head.cause === "run");
  return isOpen && atWork.some((id) => involved.includes(id));
}

function nextAfter(head: RolloutHead): string {
  return head.state === "rolling_back"
    ? "RollbackAll puts back what is left"
    : "Resume goes on with what has no result yet";
}

function reasonOf(reason: string | undefined): { reason?: string } {
  return reason === undefined ? {} : { reason };
}
