/** Writes a transition: the state, the chat message, the row of history. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { chatChannel } from "#notify/contract.ts";
import { rolloutHistory, type TransitionMessage } from "#rollout/internal.ts";
import { composeMessage, type RolloutEvent } from "#rollout/rules/messages.ts";
import { type RolloutHead, writeHead } from "#rollout/state.ts";

/** A transition that an operator caused. */
type ByOperator = { event: RolloutEvent; by: string };

/**
 * Writes the head after a transition, sends its message and saves it to history. All messages are sent
 * from this object, one transition after the other, and so reach the channel in order.
 */
export async function announce(
  ctx: ObjectContext,
  head: RolloutHead,
  transition: RolloutEvent | ByOperator,
): Promise<RolloutHead> {
  const { event, by } =
    typeof transition === "string" ? { event: transition, by: undefined } : transition;
  const stamped = { ...(await stamp(ctx, head)), sequence: head.sequence + 1 };
  writeHead(ctx, stamped);
  const message = composeMessage(event, stamped);
  ctx.sendClient(chatChannel, "sentinel_rollout").Post(message);
  saveHistory(ctx, stamped, { event, message, ...(by !== undefined && { by }) });
  return stamped;
}

/** The head with the time of this handler. */
export async function stamp(ctx: ObjectContext, head: RolloutHead): Promise<RolloutHead> {
  return { ...head, updatedAt: new Date(await ctx.date.now()).toISOString() };
}

/** Sends the head's totals to history; one way, so that an unavailable database blocks nothing. */
function saveHistory(ctx: ObjectContext, head: RolloutHead, told: TransitionMessage): void {
  ctx.sendClient(rolloutHistory, head.rolloutId).save({
    image: head.image,
    requestedImage: head.requestedImage,
    wavePercentages: head.wavePercentages,
    state: head.state,
    ...(head.reason !== undefined && { reason: head.reason }),
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
    told,
  });
}
