/** One deploy, step by step: what the driver says, written down, as an answer. */
import { isOfData } from "#kernel/unwritable.ts";
import type { ReasonCode } from "./contract.ts";
import { type Driver, type SentinelObservation, UnreachableError } from "./drivers/driver.ts";
import { giveOrder, type Look, type OrderParts, type WantedOrder } from "./give-order.ts";
import type { FleetStore } from "./store.ts";
import { extendWatch, isWatchedEnough, type Watch } from "./watch.ts";

export type DeployStep = {
  /** `unordered`: its run has stopped before the order went out. */
  status: "progressing" | "ready" | "failed" | "unordered";
  reason?: string;
  /** Only with `failed`: the fleet's API did not answer, or refused us altogether. */
  isOfApi?: boolean;
  /** The driver has not taken the order yet: the next look gives it again. */
  isPending?: boolean;
  /** Since when a failure that the fleet tells of may be that of the deploy before (Unix ms). */
  doubtedSinceMs?: number;
  watch?: Watch;
};

/** Why and when a deploy looks at its sentinel again. */
export type NextLook = {
  /** What the step before said. */
  isPending: boolean;
  doubtedSinceMs?: number | undefined;
  watch?: Watch | undefined;
  /** How long after the step before it was due. */
  pollMs: number;
  /** The deploy's time is over, as far as its durable clock knows. */
  isDue: boolean;
  /** Whoever runs the sentinel has said that it is ready. */
  isPushed: boolean;
};

export type Deployer = {
  /** Starts the deploy and looks once. Repeating it changes nothing. */
  begin: (order: WantedOrder, timeoutMs: number) => Promise<DeployStep>;
  observe: (order: WantedOrder, next: NextLook, timeoutMs: number) => Promise<DeployStep>;
  /** Writes down that the deploy ended without a result. */
  abandon: (sentinelId: string, image: string, reason: string) => Promise<void>;
};

/** The most that a look may take, however long the deploy may. */
const maxLookMs = 15_000;
const minLookMs = 1_000;
const maxBeginMs = 2 * maxLookMs;

/** How long a fleet that names no deploy may take to notice an order. */
const doubtMs = 2_000;

/** Trouble with the driver is an answer, trouble with the database is thrown and tried again. */
export function createDeployer(driver: Driver, store: FleetStore): Deployer {
  const parts = { driver, store };
  return {
    async begin(order, timeoutMs) {
      const startMs = Date.now();
      const limits = { isPending: true, limitMs: Math.min(timeoutMs, maxBeginMs) };
      const step = await recordLook(order, await look(order, limits, parts), store);
      const atMs = Date.now();
      return { ...step, watch: { atMs, watchedMs: spanOf(startMs, atMs, maxBeginMs) } };
    },

    async observe(order, { watch: before, pollMs, isPending, doubtedSinceMs, ...next }, timeoutMs) {
      const watch = before && extendWatch(before, { nowMs: Date.now(), pollMs, timeoutMs });
      const leftMs = timeoutMs - (watch?.watchedMs ?? 0);
      const limitMs = Math.min(maxLookMs, Math.max(minLookMs, leftMs));
      const isDue = next.isDue && isWatchedEnough(watch, timeoutMs);
      const doubted = isDue ? undefined : doubtedSinceMs;
      const looked = await look(order, { isPending, limitMs, doubtedSinceMs: doubted }, parts);
      const seen = judge(looked, { ...next, isDue });
      const step = await recordLook(order, seen, store);
      return { ...step, ...(watch && { watch: extendToNow(watch) }) };
    },

    async abandon(sentinelId, image, reason) {
      await store.abandon({ id: sentinelId, image, reason });
    },
  };
}

async function look(
  order: WantedOrder,
  ask: { isPending: boolean; limitMs: number; doubtedSinceMs?: number | undefined },
  parts: OrderParts,
): Promise<Look> {
  const signal = AbortSignal.timeout(ask.limitMs);
  let { isPending: mustGive, doubtedSinceMs } = ask;
  try {
    if (mustGive) {
      const given = await giveOrder(order, signal, parts);
      if (given.ended !== undefined) return given.ended;
      mustGive = false;
      doubtedSinceMs = given.failedBefore ? Date.now() : undefined;
    }
    return doubt(await parts.driver.observe(order, { signal }), doubtedSinceMs);
  } catch (error) {
    if (isOfData(error)) return { status: "failed", reason: unwritable };
    if (!(error instanceof UnreachableError)) throw error;
    const reason = error.message;
    const unanswered = { reason, isPending: mustGive, isUnanswered: true, doubtedSinceMs };
    return { status: "progressing", ...unanswered };
  }
}

/**
 * A sentinel whose last deploy of this image has failed may still be told of as failed when the order
 * has just been taken: that is believed once the fleet has said something else, or keeps saying it.
 */
function doubt(seen: SentinelObservation, doubtedSinceMs: number | undefined): Look {
  if (doubtedSinceMs === undefined) return seen;
  if (seen.isOrdered === false) return { ...seen, doubtedSinceMs };
  if (seen.status !== "failed" || seen.mayBeOfEarlier !== true) return seen;
  const agedMs = Date.now() - doubtedSinceMs;
  const isOver = agedMs < 0 || agedMs >= doubtMs;
  return isOver ? seen : { ...seen, status: "progressing", doubtedSinceMs };
}

async function recordLook(order: WantedOrder, look: Look, store: FleetStore): Promise<DeployStep> {
  const { status, reason, running_image, isPending = false, doubtedSinceMs } = look;
  if (status === "ready" || status === "failed") {
    const runningImage = status === "ready" ? order.image : running_image;
    const { sentinelId: id, image, deployId: endedId } = order;
    const write = () => store.record({ id, image, status, reason, runningImage, endedId });
    if (!(await canWrite(write))) return settleUnwritable(order, store);
  }
  return {
    status,
    isPending,
    ...(reason !== undefined && { reason }),
    ...(isOfApi(look) && { isOfApi: true }),
    ...(doubtedSinceMs !== undefined && { doubtedSinceMs }),
  };
}

function isOfApi(look: Look): boolean {
  return look.status === "failed" && (look.isOfApi === true || look.isUnanswered === true);
}

/** What was said cannot be kept: tried again for ever it would hold up all that follows. */
async function settleUnwritable(order: WantedOrder, store: FleetStore): Promise<DeployStep> {
  const { sentinelId: id, image } = order;
  await canWrite(() => store.abandon({ id, image, reason: unwritable }));
  return { status: "failed", isPending: false, reason: unwritable };
}

async function canWrite(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (!isOfData(error)) throw error;
    return false;
  }
}

const unwritable = `${"config_invalid" satisfies ReasonCode}: what is known of it cannot be stored`;

function extendToNow({ atMs, watchedMs }: Watch): Watch {
  const nowMs = Date.now();
  return { atMs: nowMs, watchedMs: watchedMs + spanOf(atMs, nowMs, maxLookMs) };
}

/** A look that lasted longer than it may was one in which the machine slept, or its clock was set. */
function spanOf(fromMs: number, toMs: number, limitMs: number): number {
  return Math.min(Math.max(0, toMs - fromMs), limitMs);
}

/**
 * A push counts as the fleet's own word that this image runs, once the fleet has taken the order and
 * says nothing to the contrary; past the deadline what is not ready has failed.
 */
export function judge(look: Look, next: Pick<NextLook, "isDue" | "isPushed">): Look {
  if (look.status !== "progressing") return look;
  const isBelieved = !look.isPending && !look.isUnanswered && look.isOrdered !== false;
  if (next.isPushed && isBelieved && !look.deniesReady) return { ...look, status: "ready" };
  return next.isDue ? { ...look, status: "failed", reason: deadlineReason(look) } : look;
}

function deadlineReason({ reason, isPending = false }: Look): string {
  if (reason === undefined) {
    return `${"progress_deadline" satisfies ReasonCode}: the sentinel was not ready in time`;
  }
  // What took no order still runs what it ran; what took it and then fell silent may run either.
  return isPending ? reason : `${"timeout_unknown" satisfies ReasonCode}: ${reason}`;
}
