/** Writes a transition: the state, the message for people, the row of history. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { chatChannel } from "#notify/contract.ts";
import { rolloutHistory, type TransitionMessage } from "#rollout/internal.ts";
import { composeMessage, type RolloutEvent } from "#rollout/rules/messages.ts";
import { type RolloutHead, writeHead } from "#rollout/state.ts";

/** A transition that someone asked for. */
type ByOperator = { event: RolloutEvent; by: string };

/**
 * Writes the head after a transition and tells of it. All messages leave from this object, one
 * transition after the other, which is what keeps them in order on their way to the channel.
 */
export async function announce(
  ctx: ObjectContext,
  head: RolloutHead,
  what: RolloutEvent | ByOperator,
): Promise<RolloutHead> {
  const { event, by } = typeof what === "string" ? { event: what, by: undefined } : what;
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

/** Sends the head's totals to history; one way, so that a database that is down holds nothing up. */
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
