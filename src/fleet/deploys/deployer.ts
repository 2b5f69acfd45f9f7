/** The steps of one deploy: order and poll through the driver, record the result, return it as a value. */
import { hasReasonCode, type ReasonCode } from "#fleet/contract.ts";
import {
  type Driver,
  type DriverCall,
  type SentinelObservation,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import type { SaveLog } from "#fleet/logs/store.ts";
import type { FleetStore } from "#fleet/store.ts";
import { isOfData } from "#kernel/database-faults.ts";
import { inTrace, traceCall } from "#kernel/tracing.ts";
import type { DeployStep, Serving } from "./contract.ts";
import {
  callOf,
  giveOrder,
  type OrderParts,
  type PollResult,
  type RunOrder,
} from "./give-order.ts";

/** The input of a poll: the state from the previous step, and the reason for this one. */
export type NextPoll = {
  /** From the previous step, as the next two. */
  isPending: boolean;
  doubtedSinceMs?: number | undefined;
  watch?: Watch | undefined;
  /** The time after the previous step at which it was due. */
  pollMs: number;
  /** The durable timer of the deploy's deadline has fired. */
  isDue: boolean;
  /** A push has said that the sentinel is ready. */
  isPushed: boolean;
  /** One may have, before there was an invocation that it could be delivered to. */
  mayBePushed?: boolean | undefined;
};

export type Deployer = {
  /** Starts the deploy and polls once. Idempotent. */
  start: (order: RunOrder, timeoutMs: number) => Promise<DeployStep>;
  observe: (order: RunOrder, next: NextPoll, timeoutMs: number) => Promise<DeployStep>;
};

/** The longest timeout of one poll, however long the deploy may take. */
const maxPollTimeoutMs = 15_000;
const minPollTimeoutMs = 1_000;
const maxStartMs = 2 * maxPollTimeoutMs;

/** The time for which a fleet that reports no deploy id may take to notice an order. */
const doubtMs = 2_000;

/** Returns the driver's failures; throws the database's, to be retried. `saveLog` precedes the record of a failure. */
export function createDeployer(driver: Driver, store: FleetStore, saveLog?: SaveLog): Deployer {
  const parts = { driver, store, saveLog };
  return {
    async start(order, timeoutMs) {
      const startMs = Date.now();
      const limits = { isPending: true, limitMs: Math.min(timeoutMs, maxStartMs) };
      const step = await recordPoll(order, await poll(order, limits, parts), parts);
      const atMs = Date.now();
      return { ...step, watch: { atMs, watchedMs: spanOf(startMs, atMs, maxStartMs) } };
    },

    async observe(order, given, timeoutMs) {
      const { watch: before, pollMs, isPending, doubtedSinceMs, ...next } = given;
      const watch = before && extendWatch(before, { nowMs: Date.now(), pollMs, timeoutMs });
      const leftMs = timeoutMs - (watch?.watchedMs ?? 0);
      const limitMs = Math.min(maxPollTimeoutMs, Math.max(minPollTimeoutMs, leftMs));
      const isDue = next.isDue && isWatchedEnough(watch, timeoutMs);
      const doubted = isDue ? undefined : doubtedSinceMs;
      const found = await poll(order, { isPending, limitMs, doubtedSinceMs: doubted }, parts);
      const isPushed =
        next.isPushed || (next.mayBePushed === true && (await wasPushed(order, store)));
      const step = await recordPoll(order, grade(found, { isPushed, isDue }), parts);
      const pushed = isPushed && step.status === "progressing" ? { isPushed } : {};
      return { ...step, ...pushed, ...(watch && { watch: extendToNow(watch) }) };
    },
  };
}

function wasPushed({ sentinelId: id, deployId }: RunOrder, store: FleetStore): Promise<boolean> {
  return store.wasPushed({ id, deployId });
}

type DeployParts = OrderParts & { saveLog: SaveLog | undefined };

/** Some drivers remove what has failed while the deploy still progresses: back to what ran before. */
function logBefore(order: RunOrder, saveLog: SaveLog): DriverCall {
  return { beforeRemoval: ({ reason, readLog }) => saveLog({ ...order, reason }, readLog) };
}

type PollLimits = {
  isPending: boolean;
  limitMs: number;
  doubtedSinceMs?: number | undefined;
};

function poll(order: RunOrder, limits: PollLimits, parts: DeployParts): Promise<PollResult> {
  return inTrace(order.trace, () => pollOnce(order, limits, parts));
}

async function pollOnce(
  order: RunOrder,
  limits: PollLimits,
  { saveLog, ...parts }: DeployParts,
): Promise<PollResult> {
  const signal = AbortSignal.timeout(limits.limitMs);
  let { isPending: mustGive, doubtedSinceMs } = limits;
  let seen: SentinelObservation | undefined;
  try {
    if (mustGive) {
      const given = await giveOrder(order, signal, parts);
      if (given.ended !== undefined) return given.ended;
      mustGive = false;
      doubtedSinceMs = given.failedBefore ? Date.now() : undefined;
      seen = given.seen;
    }
    const call = { signal, ...(saveLog && logBefore(order, saveLog)) };
    const observe = () =>
      traceCall(callOf(order, "observe"), () => parts.driver.observe(order, call));
    const observed = seen ?? (await observe());
    return doubt(observed, limits.isPending, doubtedSinceMs);
  } catch (error) {
    if (isOfData(error)) return { status: "failed", reason: unwritable };
    if (!(error instanceof UnreachableError)) throw error;
    const reason = error.message;
    const unanswered = { reason, isPending: mustGive, isUnanswered: true, doubtedSinceMs };
    return { status: "progressing", ...unanswered };
  }
}

/**
 * If the last deploy of this image has failed, the fleet may still report that failure right after it
 * accepted the order; and of an image that had this name before, that it is ready. Both count once the
 * fleet has reported something else in between, or still reports it after `doubtMs`.
 */
function doubt(observed: SentinelObservation, isNew: boolean, sinceMs?: number): PollResult {
  const doubtedSinceMs = isNew && observed.status === "ready" ? Date.now() : sinceMs;
  if (doubtedSinceMs === undefined) return observed;
  if (observed.isOrdered === false) return { ...observed, doubtedSinceMs };
  if (observed.status === "progressing" || observed.mayBeOfEarlier !== true) return observed;
  const agedMs = Date.now() - doubtedSinceMs;
  const isOver = agedMs < 0 || agedMs >= doubtMs;
  return isOver ? observed : { ...observed, status: "progressing", doubtedSinceMs };
}

async function recordPoll(
  order: RunOrder,
  found: PollResult,
  { store, saveLog }: DeployParts,
): Promise<DeployStep> {
  const { status, reason, running_image, healthy, isPending = false, doubtedSinceMs } = found;
  // First, so that whoever sees the failure finds the log. If this process is killed before the failure is recorded, the
  // step is repeated, and so is this.
  if (status === "failed" && !isOfApi(found)) {
    await saveLog?.({ ...order, reason: reason ?? "" });
  }
  if (status === "ready" || status === "failed") {
    const runningImage = status === "ready" ? order.image : running_image;
    const { sentinelId: id, image, deployId: endedId } = order;
    const ended = { id, image, status, reason, runningImage, healthy, endedId };
    const write = () => store.record(ended);
    if (!(await canWrite(write))) return failUnwritable(order, store);
  }
  return {
    status,
    isPending,
    ...(reason !== undefined && { reason }),
    ...(isOfApi(found) && { isOfApi: true }),
    ...servingOf(found),
    ...(doubtedSinceMs !== undefined && { doubtedSinceMs }),
  };
}

function servingOf({ status, healthy, running_image: image }: PollResult): { serving?: Serving } {
  if (status !== "failed" || healthy === undefined) return {};
  return { serving: { healthy, ...(image !== undefined && { image }) } };
}

function isOfApi(found: PollResult): boolean {
  return found.status === "failed" && (found.isOfApi === true || found.isUnanswered === true);
}

/** Fails a deploy whose result the database rejects: endless retries would block all later deploys. */
async function failUnwritable(order: RunOrder, store: FleetStore): Promise<DeployStep> {
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

const unwritable = `${"config_invalid" satisfies ReasonCode}: its result cannot be stored`;

function extendToNow({ atMs, watchedMs }: Watch): Watch {
  const nowMs = Date.now();
  return { atMs: nowMs, watchedMs: watchedMs + spanOf(atMs, nowMs, maxPollTimeoutMs) };
}

/** Limited to the timeout: if more time has passed, the machine slept or its clock was set. */
function spanOf(fromMs: number, toMs: number, limitMs: number): number {
  return Math.min(Math.max(0, toMs - fromMs), limitMs);
}

/** Ready once the order is accepted and no other running image is reported. After the deadline it has failed. */
export function grade(found: PollResult, next: Pick<NextPoll, "isDue" | "isPushed">): PollResult {
  if (found.status !== "progressing") return found;
  const isBelieved = !found.isPending && !found.isUnanswered && found.isOrdered !== false;
  if (next.isPushed && isBelieved && !found.deniesReady) return { ...found, status: "ready" };
  return next.isDue ? { ...found, status: "failed", reason: deadlineReason(found) } : found;
}

function deadlineReason({ reason, isPending = false, isUnanswered }: PollResult): string {
  if (reason === undefined) {
    return `${"progress_deadline" satisfies ReasonCode}: the sentinel was not ready in time`;
  }
  // The fleet's own words about a sentinel that is not ready are the reason of its failure.
  if (!isUnanswered) return hasReasonCode(reason) ? reason : `progress_deadline: ${reason}`;
  // A fleet that did not accept the order still runs the old image; one that accepted it and then stopped
  // answering may run either.
  return isPending ? reason : `${"timeout_unknown" satisfies ReasonCode}: ${reason}`;
}

/** The last poll's end (Unix ms), and the time watched until then, without time in which no process could poll. */
type Watch = { atMs: number; watchedMs: number };

/** The delay of a poll up to which the time since the last one counts as watched. */
const slackMs = 5_000;

/** Clocks differ slightly: Restate's timer sets the deadline, our clock measures the watched time. */
const tolerance = 0.9;

/** The watch when the next poll begins, which was due `pollMs` after the last one. */
function extendWatch(
  { atMs, watchedMs }: Watch,
  next: { nowMs: number; pollMs: number; timeoutMs: number },
): Watch {
  const { nowMs, pollMs, timeoutMs } = next;
  const gapMs = Math.max(0, nowMs - atMs);
  const isUnbroken = gapMs <= pollMs + Math.min(slackMs, timeoutMs / 4);
  return { atMs: nowMs, watchedMs: watchedMs + (isUnbroken ? gapMs : pollMs) };
}

/** True if a deploy was watched for all of its time, so that it may be judged, or if nothing is known of that. */
function isWatchedEnough(watch: Watch | undefined, timeoutMs: number): boolean {
  return watch === undefined || watch.watchedMs >= timeoutMs * tolerance;
}
