/** Sends what happens to history; one way, so that an unavailable database blocks nothing. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { type HistoryEntry, rolloutHistory } from "#rollout/history/interface.ts";
import { toPlanned } from "#rollout/history/planned.ts";
import type { OutcomeChange } from "#rollout/rules/outcome.ts";
import type { Batch, RolloutHead } from "#rollout/state.ts";
import { toStatus } from "./answer.ts";

/** Key `told`: the last transition that was sent to history. */
const lastSentKey = "told";
type LastSent = { rolloutId: string } & Pick<HistoryEntry, "told" | "toldAt">;

/** Sends a transition. */
export function sendTransition(
  ctx: ObjectContext,
  head: RolloutHead,
  told: HistoryEntry["told"],
): void {
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
  const { reason, cause, outcome, waiting_for, until, policy = {}, ci } = toStatus(head);
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
    failedBefore: Math.max(0, (head.failedBefore ?? 0) - head.failed),
    ...(head.gate !== undefined && { gateChecks: head.gate.checks }),
    ...(reason !== undefined && { reason }),
    ...(cause !== undefined && { cause }),
    ...(until !== undefined && { until }),
    ...(ci !== undefined && { ci }),
  };
}

/** Sends the members of a batch, before it is deployed: what was sent when the fleet was frozen may be still on its way. */
export function sendMembers(ctx: ObjectContext, rolloutId: string, batch: Batch): void {
  ctx.sendClient(rolloutHistory, rolloutId).plan({ batches: [toPlanned(batch)] });
}

/** Sends results, with the head's totals. */
export function sendOutcomes(
  ctx: ObjectContext,
  head: RolloutHead,
  changes: OutcomeChange[],
): void {
  const { rolloutId, sequence, updatedAt, succeeded, failed, reverted } = head;
  const totals = { sequence, updatedAt, succeeded, failed, reverted };
  const atMs = Date.parse(updatedAt);
  ctx.sendClient(rolloutHistory, rolloutId).outcomes({ changes, atMs, isLate: false, totals });
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
