/** Gives an order to the driver, for as long as the run that wants it is at work. */
import type { ReasonCode } from "./contract.ts";
import {
  type ApplyResult,
  type DeployOrder,
  type Driver,
  type SentinelObservation,
  UnreachableError,
  UnwantedError,
} from "./drivers/driver.ts";
import type { FleetStore, RecordResult } from "./store.ts";

/** `run` is the rollout's run that wants the order; absent: it is always wanted. */
export type WantedOrder = DeployOrder & { run?: string | undefined };

/** What a look at the sentinel has found. */
export type Look = Omit<SentinelObservation, "status"> & {
  /** `unordered`: its run has stopped before the order went out. */
  status: SentinelObservation["status"] | "unordered";
  isPending?: boolean;
  isUnanswered?: boolean;
  /** Since when a failure may be that of the deploy before (Unix ms); absent: it is this one's. */
  doubtedSinceMs?: number | undefined;
};

/** `ended`: how the deploy stands without an order; absent: the driver has taken the order. */
type GivenOrder = { ended?: Look | undefined; failedBefore: boolean };

export type OrderParts = { driver: Driver; store: FleetStore };

/**
 * An order is given within so long after it was asked for, or is asked for again and may take twice as
 * long: another worker's stop is noticed no sooner, and a slow database or fleet is still ordered from.
 */
const firstPermissionMs = 100;
const lastPermissionMs = 2_000;

/** An order that went out before a kill has reached its fleet by then, or never will. */
const arrivalMs = 5_000;

/**
 * Asks durably whether the order is wanted, and gives it. Throws `UnreachableError` for trouble that
 * may pass.
 */
export async function giveOrder(
  order: WantedOrder,
  signal: AbortSignal,
  parts: OrderParts,
): Promise<GivenOrder> {
  const { sentinelId: id, image, deployId, run } = order;
  const { store } = parts;
  let before: RecordResult | undefined;
  let permissionMs = firstPermissionMs;
  while (!signal.aborted) {
    const untilMs = performance.now() + permissionMs;
    const asked = await store.record({ id, image, status: "progressing", deployId, run });
    // An order that was held back and is asked for anew did not go out in between.
    before ??= asked;
    const { failedBefore = false } = before;
    if (asked.isFollowed === true) return { ended: followed, failedBefore };
    if (asked.isStopped) {
      return { ended: await findOrdered(order, { ...before, signal }, parts), failedBefore };
    }
    const isWanted = () => !store.isStoppedHere(run) && performance.now() < untilMs;
    // When it is too late already no connection is asked for: to give it up again would break it.
    const applied = isWanted() ? await apply(order, { signal, isWanted }, parts) : "held back";
    permissionMs = Math.min(permissionMs * 2, lastPermissionMs);
    if (applied === "held back") continue;
    if (applied.failure === undefined) return { failedBefore };
    const { failure: reason, isOfApi } = applied;
    return { ended: { status: "failed", reason, isOfApi }, failedBefore };
  }
  throw new UnreachableError("unreachable: the order could not be given in time");
}

const followed: Look = {
  status: "unordered",
  reason: `${"cancelled" satisfies ReasonCode}: another deploy has followed`,
};

async function apply(
  order: WantedOrder,
  call: { signal: AbortSignal; isWanted: () => boolean },
  { driver, store }: OrderParts,
): Promise<ApplyResult | "held back"> {
  try {
    return await driver.apply(order, call);
  } catch (error) {
    if (!(error instanceof UnwantedError)) throw error;
    // Its connection broke with it: a look makes one that stays, and the next order leaves on it at once.
    if (!store.isStoppedHere(order.run)) await driver.observe(order, { signal: call.signal });
    return "held back";
  }
}

/** The order is no longer wanted: whether it went out before something was killed, the fleet knows. */
async function findOrdered(
  order: WantedOrder,
  { orderedMsAgo, signal }: { orderedMsAgo: number | null; signal: AbortSignal },
  { driver, store }: OrderParts,
): Promise<Look | undefined> {
  if (orderedMsAgo !== null) {
    const { isOrdered } = await driver.observe(order, { signal });
    if (isOrdered === true) return undefined;
    if (orderedMsAgo < arrivalMs) return { status: "progressing", isPending: true };
  }
  await store.putBack({ id: order.sentinelId, deployId: order.deployId });
  return { status: "unordered", reason: `${"cancelled" satisfies ReasonCode}: not ordered` };
}
