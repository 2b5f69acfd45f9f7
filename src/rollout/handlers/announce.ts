/** Announces what happens: the state is written, channels get a message, history gets rows. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { notices, topicKey } from "#alerts/contract.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { toIso } from "#kernel/time.ts";
import { sendSpans } from "#kernel/trace-service.ts";
import type { Trace } from "#kernel/tracing.ts";
import {
  type HistoryEntry,
  type OutcomesEntry,
  rolloutHistory,
} from "#rollout/history/interface.ts";
import { reconciler, rolloutWatch } from "#rollout/internal.ts";
import { type ChannelEvent, composeMessage, type RolloutEvent } from "#rollout/rules/messages.ts";
import type { OutcomeChange } from "#rollout/rules/outcome.ts";
import { traceTransition } from "#rollout/rules/spans.ts";
import { type RolloutHead, writeHead } from "#rollout/state.ts";
import { toStatus } from "./answer.ts";

// Sends what happens to history; one way, so that an unavailable database blocks nothing.

/** Key `told`: the last transition that was sent to history. */
const lastSentKey = "told";
type LastSent = { rolloutId: string } & Pick<HistoryEntry, "told" | "toldAt">;

function sendTransition(ctx: ObjectContext, head: RolloutHead, told: HistoryEntry["told"]): void {
  const { rolloutId, sequence: toldAt } = head;
  ctx.set<LastSent>(lastSentKey, { rolloutId, told, toldAt });
  save(ctx, head, { told, toldAt });
}

/** Sends how the rollout is now. Whoever sent it last may have been killed, and what it sent with it. */
export async function sendAgain(ctx: ObjectContext, head: RolloutHead): Promise<void> {
  const last = await ctx.get<LastSent>(lastSentKey);
  if (last?.rolloutId !== head.rolloutId) return;
  const { told, toldAt } = last;
  save(ctx, head, { told, toldAt });
}

function save(
  ctx: ObjectContext,
  head: RolloutHead,
  transition: Pick<HistoryEntry, "told" | "toldAt">,
): void {
  const { reason, ...shown } = shownOf(head);
  ctx.sendClient(rolloutHistory, head.rolloutId).save({
    ...(head.fleet !== undefined && { fleet: head.fleet }),
    image: head.image,
    requestedImage: head.requestedImage,
    wavePercentages: head.wavePercentages,
    state: head.state,
    ...(reason !== undefined && { reason }),
    shown,
    startedBy: head.startedBy,
    ...(head.accounts !== undefined && { accounts: head.accounts }),
    ...(head.ciRun !== undefined && { ciRun: head.ciRun }),
    startedAt: head.startedAt,
    updatedAt: head.updatedAt,
    currentWave: head.currentWave,
    totalWaves: head.totalWaves,
    total: head.total,
    succeeded: head.succeeded,
    failed: head.failed,
    reverted: head.reverted,
    sequence: head.sequence,
    ...transition,
  });
}

function shownOf(head: RolloutHead): HistoryEntry["shown"] & { reason?: string } {
  const {
    reason,
    cause,
    outcome,
    waiting_for,
    until,
    policy = {},
    ci,
    gate,
    approved,
  } = toStatus(head);
  return {
    outcome: outcome ?? null,
    waitingFor: waiting_for ?? null,
    policy,
    waves: head.waves.map(({ percentage, size, startedAt = null, endedAt = null }) => ({
      percentage,
      size,
      started_at: startedAt,
      ended_at: endedAt,
    })),
    leftOut: head.leftOut ?? 0,
    ...(gate !== undefined && { gate }),
    ...(head.gates !== undefined && { gates: head.gates }),
    ...(head.fleetSize !== undefined && { fleetSize: head.fleetSize }),
    ...(reason !== undefined && { reason }),
    ...(cause !== undefined && { cause }),
    ...(until !== undefined && { until }),
    ...(ci !== undefined && { ci }),
    ...(approved !== undefined && { approved }),
  };
}

/** Sends results, with the head's totals. `batch`: theirs, for a history that was not told of it. */
export function sendOutcomes(
  ctx: ObjectContext,
  head: RolloutHead,
  results: Pick<OutcomesEntry, "changes" | "batch">,
): void {
  const { rolloutId, sequence, updatedAt, succeeded, failed, reverted } = head;
  const totals = { sequence, updatedAt, succeeded, failed, reverted };
  const atMs = Date.parse(updatedAt);
  ctx.sendClient(rolloutHistory, rolloutId).outcomes({ ...results, atMs, isLate: false, totals });
}

/** Sends results of a rollout whose state was deleted: history alone still has it. */
export async function sendLateOutcomes(
  ctx: ObjectContext,
  rolloutId: string,
  changes: OutcomeChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const atMs = await ctx.date.now();
  ctx.sendClient(rolloutHistory, rolloutId).outcomes({ changes, atMs, isLate: true });
}

/** A transition that an operator caused, with the reason if one was given. */
export type ByOperator = { event: RolloutEvent; by: string; reason?: string };

/** Writes the head, sends its message and history. All go from this object, and so reach the channel in order. */
export async function announce(
  ctx: ObjectContext,
  head: RolloutHead,
  transition: RolloutEvent | ByOperator,
): Promise<RolloutHead> {
  return announceAt(ctx, head, { transition, nowMs: await ctx.date.now() });
}

/** Does the same as `announce`, for a handler that knows the time. */
export function announceAt(
  ctx: ObjectContext,
  head: RolloutHead,
  { transition, nowMs }: { transition: RolloutEvent | ByOperator; nowMs: number },
): RolloutHead {
  const { event, by, reason }: Partial<ByOperator> & Pick<ByOperator, "event"> =
    typeof transition === "string" ? { event: transition } : transition;
  const at = toIso(nowMs);
  const paused = event === "paused" && by !== undefined && { paused: { by, at } };
  const numbered = { ...head, ...paused, updatedAt: at, sequence: head.sequence + 1 };
  const { head: stamped, trace } = recordSpans(ctx, numbered, { event, nowMs });
  writeHead(ctx, stamped);
  const message = composeMessage(event, stamped, { by, reason });
  const { rolloutId: id, fleet } = stamped;
  const rollout = { id, fleet: fleet ?? defaultFleet, event };
  const topic = topicKey("sentinel_rollout", fleet);
  ctx.sendClient(notices, topic).post({ ...message, rollout, ...trace });
  if (event === "paused") listAfterPause(ctx, stamped);
  if (event === "completed") endFault(ctx, stamped);
  sendTransition(ctx, stamped, { event, message, ...(by !== undefined && { by }) });
  return stamped;
}

/** Sends the spans that have ended; `trace`: that of the message. The state says whether there are any, not the settings. */
function recordSpans(
  ctx: ObjectContext,
  head: RolloutHead,
  at: { event: RolloutEvent; nowMs: number },
): { head: RolloutHead; trace?: { trace: Trace } } {
  const { trace: before } = head;
  if (before === undefined) return { head };
  const { trace, spans, message } = traceTransition({ ...head, trace: before }, at);
  if (spans.length > 0) sendSpans(ctx, { spans });
  return { head: { ...head, trace }, trace: { trace: message } };
}

/** Its own list comes once a minute: too late for somebody who was just woken. */
function listAfterPause(ctx: ObjectContext, head: RolloutHead): void {
  const { rolloutId, fleet, failedIds } = head;
  const ids = failedIds ?? head.failedSample.map(({ id }) => id);
  ctx.sendClient(rolloutWatch).paused({ rolloutId, ids, ...(fleet !== undefined && { fleet }) });
}

/** Ends the alert of a fault of the rollout before. The reconciler brings back the image that has the fault. */
function endFault(ctx: ObjectContext, { fault, fleet, image, startedBy }: RolloutHead): void {
  if (fault === undefined || startedBy === reconciler) return;
  const value = shortenImage(image);
  const note = { id: fault, fleet: fleet ?? defaultFleet };
  ctx.sendClient(notices, topicKey("sentinel_rollout", fleet)).post({
    id: `${fault}#gone`,
    title: `Fault after the rollout is over${fleet === undefined ? "" : ` (${fleet})`}`,
    tone: "success",
    lines: [`Another rollout has completed since, of ${value}.`],
    fields: [{ name: "Image", value }],
    rollout: { ...note, event: "fault gone" satisfies ChannelEvent },
  });
}

export async function stamp(ctx: ObjectContext, head: RolloutHead): Promise<RolloutHead> {
  return { ...head, updatedAt: toIso(await ctx.date.now()) };
}
