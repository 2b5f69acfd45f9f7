/** Stops a rollout because a condition failed, and starts the rollback that is to follow. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Stop } from "#rollout/conditions/condition.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { announce } from "./announce.ts";
import { type OrderStop, stopOrders } from "./order-stop.ts";
import { startRollback } from "./rollback.ts";
import { stopWork } from "./runs.ts";

/** The name of the caller of an automatic rollback. */
const automatic = "on_failure";

/**
 * Nothing new starts from here on; what is in flight finishes. The rollback is noted before it begins, so
 * that the repair timer begins it when this handler is killed in between.
 */
export async function stopFor(
  ctx: ObjectContext,
  head: RolloutHead,
  { verdict, orders }: { verdict: Stop; orders: OrderStop },
): Promise<RolloutHead> {
  const { cause, reason, isOfImage } = verdict;
  const { reason: _, ...before } = head;
  const followsRollback = isOfImage && head.policy.on_failure === "rollback";
  const paused: RolloutHead = {
    ...before,
    state: "paused",
    cause,
    ...(reason !== undefined && { reason }),
    ...(followsRollback && { rollbackDue: true }),
  };
  const announced = await announce(ctx, paused, "paused");
  stopWork(ctx, announced);
  const stopped = await stopOrders(ctx, orders);
  return followsRollback ? rollBackAutomatically(ctx, orders) : (stopped ?? announced);
}

/** True if an automatic rollback is pending: an operator may have decided otherwise meanwhile. */
export function isDue({ state, rollbackDue }: RolloutHead): boolean {
  return state === "paused" && rollbackDue === true;
}

/** Starts the rollback that is due. Its reason and cause stay those of the pause. */
export async function rollBackAutomatically(
  ctx: ObjectContext,
  orders: OrderStop,
): Promise<RolloutHead> {
  const head = (await stopOrders(ctx, orders)) as RolloutHead;
  const includeFailed = head.policy.include_failed === true;
  return startRollback(ctx, head, { by: automatic, includeFailed, isAutomatic: true });
}
