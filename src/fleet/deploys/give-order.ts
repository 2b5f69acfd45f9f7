/** Gives an order to the driver, as long as the run that wants it has not been stopped. */
import type { ReasonCode } from "#fleet/contract.ts";
import {
  type ApplyResult,
  type DeployOrder,
  type Driver,
  type SentinelObservation,
  UnreachableError,
  UnwantedError,
} from "#fleet/drivers/driver.ts";
import type { FleetStore, RecordResult } from "#fleet/store.ts";
import { type Trace, traceCall } from "#kernel/tracing.ts";

/** `run` wants the order; absent: always wanted. `onlyIfIdle`: refused while the sentinel has another deploy. */
export type RunOrder = DeployOrder & {
  run?: string | undefined;
  onlyIfIdle?: boolean;
  trace?: Trace | undefined;
};

/** The result of one poll of the sentinel. */
export type PollResult = Omit<SentinelObservation, "status"> & {
  /** `unordered`: its run was stopped before the order was sent. */
  status: SentinelObservation["status"] | "unordered";
  isPending?: boolean;
  isUnanswered?: boolean;
  /** Since when a failure may be that of the previous deploy (Unix ms); absent: it is this one's. */
  doubtedSinceMs?: number | undefined;
};

/** `ended`: why no order was sent; absent: it was accepted. `seen`: what the fleet has said with that. */
type OrderResult = {
  ended?: PollResult | undefined;
  seen?: SentinelObservation | undefined;
  failedBefore: boolean;
};

export type OrderParts = { driver: Driver; store: FleetStore };

/** A permission's validity, twice as long at each further try: another worker may have stopped the run meanwhile. */
const firstPermissionMs = 100;
const lastPermissionMs = 2_000;

/** An order that was sent before a kill has reached its fleet after this time, or never will. */
const arrivalMs = 5_000;

/** Another deploy of the sentinel is in progress. */
class BusyError extends Error {}

/** Asks the database if the order is still wanted, and gives it. Throws `UnreachableError` for a passing failure. */
export async function giveOrder(
  order: RunOrder,
  signal: AbortSignal,
  parts: OrderParts,
): Promise<OrderResult> {
  try {
    return await giveInTime(order, signal, parts);
  } finally {
    parts.store.unsent.delete(order.deployId);
  }
}

async function giveInTime(
  order: RunOrder,
  signal: AbortSignal,
  parts: OrderParts,
): Promise<OrderResult> {
  const { store } = parts;
  let before: RecordResult | undefined;
  let permissionMs = firstPermissionMs;
  while (!signal.aborted) {
    const untilMs = performance.now() + permissionMs;
    const asked = await ask(order, store);
    // Only the first answer counts: an order that was held back was not sent in between.
    before ??= asked;
    const { failedBefore = false } = before;
    if (asked.isFollowed === true) return { ended: followed, failedBefore };
    if (asked.isStopped) {
      return { ended: await findOrdered(order, { ...before, signal }, parts), failedBefore };
    }
    const isValid = () => !store.isStoppedHere(order.run) && performance.now() < untilMs;
    const isWanted = () => isValid() && recordSent(order, store);
    // If it is too late already no connection is taken: aborting the request later would break it.
    const applied = isValid() ? await apply(order, { signal, isWanted }, parts) : "held back";
    permissionMs = Math.min(permissionMs * 2, lastPermissionMs);
    if (applied === "held back") continue;
    if (applied.failure === undefined) return { failedBefore, seen: applied.seen };
    const { failure: reason, isOfApi } = applied;
    return { ended: { status: "failed", reason, isOfApi }, failedBefore };
  }
  throw new UnreachableError("unreachable: the order could not be given in time");
}

/** Permission to send it. */
async function ask(order: RunOrder, store: FleetStore): Promise<RecordResult> {
  const { sentinelId: id, image, deployId, run, onlyIfIdle } = order;
  const status = "progressing";
  const asked = await store.record({ id, image, status, deployId, run, onlyIfIdle });
  if (asked.isBusy === true) throw new BusyError("another deploy of the sentinel is in progress");
  // No attempt before this one, which may have been killed, had permission.
  if (asked.orderedMsAgo === null) store.unsent.add(deployId);
  return asked;
}

/** The driver sends it with the next thing that it does. */
function recordSent({ deployId }: RunOrder, { unsent }: FleetStore): true {
  unsent.delete(deployId);
  return true;
}

const followed: PollResult = {
  status: "unordered",
  reason: `${"cancelled" satisfies ReasonCode}: another deploy has followed`,
};

async function apply(
  order: RunOrder,
  call: { signal: AbortSignal; isWanted: () => boolean },
  { driver, store }: OrderParts,
): Promise<ApplyResult | "held back"> {
  try {
    return await traceCall(callOf(order, "apply"), () => driver.apply(order, call));
  } catch (error) {
    if (!(error instanceof UnwantedError)) throw error;
    // The abort broke its connection: a poll opens one that stays open, for the next order to use at once.
    if (!store.isStoppedHere(order.run)) await driver.observe(order, { signal: call.signal });
    return "held back";
  }
}

/** Describes a call of a driver that makes no requests of HTTP, for its trace. */
export function callOf({ sentinelId }: DeployOrder, name: "apply" | "observe") {
  return { name: `${name} sentinel`, attributes: { "vedette.sentinel.id": sentinelId } };
}

/** The order is no longer wanted. Asks the fleet whether it was sent earlier, before a kill. */
async function findOrdered(
  order: RunOrder,
  { orderedMsAgo, signal }: { orderedMsAgo: number | null; signal: AbortSignal },
  { driver, store }: OrderParts,
): Promise<PollResult | undefined> {
  if (orderedMsAgo !== null) {
    const { isOrdered } = await driver.observe(order, { signal });
    if (isOrdered === true) return undefined;
    if (orderedMsAgo < arrivalMs) return { status: "progressing", isPending: true };
  }
  await store.putBack({ id: order.sentinelId, deployId: order.deployId });
  return { status: "unordered", reason: `${"cancelled" satisfies ReasonCode}: not ordered` };
}
