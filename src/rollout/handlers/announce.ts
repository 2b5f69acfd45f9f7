/** Writes a transition: the state, the chat message, the row of history. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { notices, topicKey } from "#alerts/contract.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { toIso } from "#kernel/time.ts";
import { rolloutWatch } from "#rollout/internal.ts";
import { composeMessage, type RolloutEvent } from "#rollout/rules/messages.ts";
import { type RolloutHead, writeHead } from "#rollout/state.ts";
import { sendTransition } from "./send-history.ts";

/** A transition that an operator caused, with the reason if one was given. */
export type ByOperator = { event: RolloutEvent; by: string; reason?: string };

/**
 * Writes the head after a transition, sends its message and saves it to history. All messages are sent
 * from this object, one transition after the other, and so reach the channel in order.
 */
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
  const stamped = { ...head, ...paused, updatedAt: at, sequence: head.sequence + 1 };
  writeHead(ctx, stamped);
  const message = composeMessage(event, stamped, { by, reason });
  const { rolloutId: id, fleet } = stamped;
  const rollout = { id, fleet: fleet ?? defaultFleet, event };
  const topic = topicKey("sentinel_rollout", fleet);
  ctx.sendClient(notices, topic).post({ ...message, rollout });
  if (event === "paused") listAfterPause(ctx, stamped);
  sendTransition(ctx, stamped, { event, message, ...(by !== undefined && { by }) });
  return stamped;
}

/** Its own list comes once a minute: too late for somebody who was just woken. */
function listAfterPause(ctx: ObjectContext, head: RolloutHead): void {
  const { rolloutId, fleet, failedIds } = head;
  const ids = failedIds ?? head.failedSample.map(({ id }) => id);
  ctx.sendClient(rolloutWatch).paused({ rolloutId, ids, ...(fleet !== undefined && { fleet }) });
}

/** The head with the time of this handler. */
export async function stamp(ctx: ObjectContext, head: RolloutHead): Promise<RolloutHead> {
  return { ...head, updatedAt: toIso(await ctx.date.now()) };
}
